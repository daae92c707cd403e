#!/usr/bin/env bash
# Runs survey.sbatch on a Slurm of this one machine: a controller and three nodes, each a daemon of
# its own, in a temporary folder. One node is killed while it judges; Slurm puts its task into the
# queue again, and the array ends on the others. The merged results must be those of one process, to
# the byte. Needs slurmctld, slurmd, the clients and munged, and no privileges.
set -euo pipefail
cd "$(dirname "$0")/../../.."
shards=12
die() { echo "slurm: $*" >&2; tail -n 5 "$work"/*.log >&2 2>/dev/null || true; exit 1; }
export PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch squeue sinfo munged; do
  command -v $program >/dev/null || { echo "slurm: $program is not installed: apt-get install slurmctld slurmd slurm-client munge" >&2; exit 1; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-slurm.XXXXXX")
pids=()
finish() {
  for pid in "${pids[@]}" $(of_cluster); do kill -9 "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
# of_cluster lists all processes that know this cluster.
of_cluster() { grep -lzx "SLURM_CONF=$work/slurm.conf" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | grep -vx $$; }
# killed_node kills a node: its daemon, the daemons of its steps, which have its log open, and their
# processes, in this order, so that none of them reports the end of another one.
killed_node() {
  local pid
  pid=$(cat "$work/$1.pid" 2>/dev/null || true)
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  for pid in $(pgrep slurmstepd || true); do
    [ -z "$(find "/proc/$pid/fd" -lname "$work/$1.log" 2>/dev/null)" ] || kill -9 "$pid" 2>/dev/null || true
  done
  for pid in $(of_cluster); do
    ! grep -qzx "SLURMD_NODENAME=$1" "/proc/$pid/environ" 2>/dev/null || kill -9 "$pid" 2>/dev/null || true
  done
}
trap finish EXIT
# started notes the last process in the background.
started() {
  pids+=($!)
  disown
}
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

go build -o "$work/assay" ./cmd/assay
"$work/assay" manifest --store "$work/survey" corpus 2>/dev/null
"$work/assay" survey "$work/survey/manifest.jsonl" --out "$work/whole" >/dev/null

user=$(id -un)
cat >"$work/slurm.conf" <<CONF
ClusterName=assay
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$(port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
SlurmctldPidFile=$work/controller.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$work/controller.log
SlurmdLogFile=$work/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=0
SlurmdTimeout=6
KillWait=2
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
$(for node in n1 n2 n3; do echo "NodeName=$node NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$(port) CPUs=1 RealMemory=2048"; done)
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
mkdir "$work/state" "$work/n1" "$work/n2" "$work/n3"
chmod 755 "$work"

head -c 1024 /dev/urandom >"$work/munge.key"
chmod 400 "$work/munge.key"
munged --foreground --force --socket "$work/munge.socket" --key-file "$work/munge.key" --pid-file "$work/munged.pid" --seed-file "$work/munge.seed" --log-file "$work/munged.log" 2>"$work/munged.out" &
started
for ((i = 0; i < 100; i++)); do [ ! -S "$work/munge.socket" ] || break; sleep 0.1; done
slurmctld -D -i >"$work/controller.out" 2>&1 &
started
for node in n1 n2 n3; do
  (cd "$work/$node" && exec slurmd -D -N $node) >"$work/$node.out" 2>&1 &
  started
done
wait_for() { # SECONDS WHAT COMMAND...
  for ((i = 0; i < $1 * 5; i++)); do ! "${@:3}" 2>/dev/null || return 0; sleep 0.2; done
  die "$2 after $1 s: $(sinfo -h -o '%n %t %E' 2>&1 | tr '\n' ';') $(squeue -h -r -o '%K %t %N %r' 2>&1 | tr '\n' ';')"
}
idle() { [ "$(sinfo -h -N -t idle -o %n | wc -l)" = 3 ]; }
wait_for 30 "the nodes are not there" idle

# The first try of task 2 stands still in its work until its node is killed.
cat >"$work/judge" <<JUDGE
#!/usr/bin/env bash
if [ "\$SLURM_ARRAY_TASK_ID" = 2 ] && [ -z "\${SLURM_RESTART_COUNT:-}" ]; then
  "$work/assay" "\$@" &
  kill -STOP \$!
  echo "\$SLURMD_NODENAME" >"$work/begun"
  wait
fi
exec "$work/assay" "\$@"
JUDGE
chmod +x "$work/judge"
job=$(ASSAY=$work/judge sbatch --parsable --array=0-$((shards - 1)) --output="$work/task-%a.txt" ci/scale/slurm/survey.sbatch "$work/survey/manifest.jsonl" "$work/results")
wait_for 60 "task 2 has not begun" test -s "$work/begun"
node=$(cat "$work/begun")
killed_node "$node"
echo "slurm: $node is killed"
down() { sinfo -h -N -n "$node" -o %t | grep -q down; }
wait_for 60 "the controller has not noticed" down
ended() { [ -z "$(squeue -h -j "$job" -o %i 2>&1 | grep -v 'Invalid job id')" ]; }
wait_for 200 "the array has not ended" ended
"$work/assay" report --merge "$work/results" --out "$work/merged.jsonl" >"$work/summary" || die "merge"
cmp "$work/merged.jsonl" "$work"/whole/*.jsonl || die "the merged results are not those of one process"
[ "$(sinfo -h -N -t idle -o %n | wc -l)" = 2 ] || die "expected two nodes that are left"
echo "slurm: $shards tasks on 3 nodes, one of them killed: the results are those of one process"
