#!/usr/bin/env bash
# Surveys the Hub and writes the site: what has changed since the last run alone is fetched and
# judged. FOLDER keeps everything from run to run; the site is FOLDER/site.
#
#   ci/scale/publish.sh FOLDER DATE
#
# The status is 3 where the Hub could not be read to its end: the next run goes on.
set -euo pipefail
folder=$1 date=$2
assay=${ASSAY:-assay}
mkdir -p "$folder"
"$assay" hub list --out "$folder" --tag gguf --budget "${BUDGET:-4000}"
status=0
"$assay" hub fetch "$folder/repositories.jsonl" --budget "${BUDGET:-4000}" || status=$?
[ $status = 0 ] || exit $status
since=()
[ ! -f "$folder/last.jsonl" ] || since=(--since "$folder/last.jsonl")
rm -rf "$folder/results"
"$assay" survey "$folder/manifest.jsonl" --out "$folder/results" "${since[@]}"
"$assay" report --merge "$folder/results" --out "$folder/last.jsonl" --table "$folder/site/places.parquet" --site "$folder/site" --date "$date"
