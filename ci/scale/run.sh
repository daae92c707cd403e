#!/usr/bin/env bash
# Judges a manifest of many entries in many shards on this machine, and demands that the merged
# results are those of one process, to the byte; that a shard which was killed and ran again changes
# nothing; that a missing shard is an error which names it; and that no process needs more than
# 150 MB.
#
#   ci/scale/run.sh [ENTRIES [SHARDS]]     default: 100000 64
set -euo pipefail
cd "$(dirname "$0")/../.."
entries=${1:-100000} shards=${2:-64}
die() { echo "scale: $*" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-scale.XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/assay" ./cmd/assay
go build -o "$work/peak" ./ci/scale

# Each family's template lies in many places, the vendors' ones too where they were fetched.
folders=(corpus)
[ ! -d .deps/llama.cpp/models/templates ] || folders+=(.deps/llama.cpp/models/templates)
"$work/assay" manifest --store "$work" "${folders[@]}" 2>/dev/null
awk -v n="$entries" '{ line[NR] = $0 } END {
  for (i = 0; i < n; i++) {
    one = line[i * 7919 % NR + 1]
    sub(/"where":"[^"]*"/, "\"where\":\"owner-" i % 997 "/model-" i "\"", one)
    sub(/}$/, ",\"downloads\":" i % 1009 "}", one)
    print one
  }
}' "$work/manifest.jsonl" >"$work/many.jsonl"

# The Job is one that Kubernetes takes.
ci/scale/kubernetes.sh ci/scale/kubernetes/*.yaml

survey() { "$work/peak" "$work/peaks" "$work/assay" survey "$work/many.jsonl" "$@" >"$work/log" 2>&1 || die "$(cat "$work/log")"; }
survey --out "$work/whole"
for ((i = 0; i < shards; i++)); do
  if [ $i = $((shards / 2)) ]; then # killed in the middle of its work, and run again
    JOB_COMPLETION_INDEX=$i "$work/assay" survey "$work/many.jsonl" --out "$work/parts" --shard auto --shards "$shards" >/dev/null &
    sleep 0.3
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
  fi
  JOB_COMPLETION_INDEX=$i survey --out "$work/parts" --shard auto --shards "$shards"
done
rm -f "$work"/parts/*.new
"$work/peak" "$work/peaks" "$work/assay" report --merge "$work/parts" --out "$work/merged.jsonl" >"$work/summary"
cmp "$work/merged.jsonl" "$work"/whole/*.jsonl || die "the merged results are not those of one process"
rm "$work"/parts/*.2-of-"$shards".jsonl
status=0
"$work/assay" report --merge "$work/parts" >"$work/log" 2>&1 || status=$?
[ $status = 2 ] && grep -q 'these are missing: 2$' "$work/log" || die "a missing shard: status $status: $(cat "$work/log")"
peak=$(sort -n "$work/peaks" | tail -1)
[ "$peak" -lt $((150 << 20)) ] || die "a process needed $((peak >> 20)) MB of memory"
head -1 "$work/summary"
echo "scale: $entries entries in $shards shards and in one process: alike; at most $((peak >> 20)) MB"
