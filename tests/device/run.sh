#!/usr/bin/env bash
# On the machine with the GPU: checks kernels of the pack against f64 and tunes with its candidates. Needs the GPU's driver and nothing else.
set -uo pipefail

usage() {
  cat <<'HELP'
usage: run.sh DEVICE RESULTS [BUDGET [TUNE-FLAG...]]

DEVICE is cuda:0, or a simulated one to try the script (sim:h100). RESULTS is a folder that receives check-N.json, tune.jsonl, tune.html,
tune.json and device.txt. BUDGET bounds the tuning (default 4m). Exits 0 if every kernel is right and every attention has a winner.
HELP
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -ge 2 ] || { usage >&2; exit 2; }
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
device=$1 results=$2 budget=${3:-4m}
shift $(($# < 3 ? $# : 3))
mkdir -p "$results"
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TESSERA_SIM_LIBRARY=$here/lib/libtessera-sim.so
export TESSERA_CACHE_DIR=$results/cache
tessera=$here/bin/tessera bundle=$here/candidates.tsb failed=0

{ date -u; command -v nvidia-smi >/dev/null && nvidia-smi; "$tessera" devices; } >"$results/device.txt" 2>&1

# The kernels at lengths that the reference answers in a moment.
check() { "$tessera" run --quiet --json --check --device "$device" --bundle "$bundle" --policy bundle-only "${@:2}" >"$results/check-$1.json" || { echo "check $1 failed" >&2; failed=1; }; }
check 1 --head-dim 128 --causal bottom-right --heads 8 --kv-heads 2 --seqlen-q 300 --seqlen-kv 517
check 2 --head-dim 128 --heads 8 --kv-heads 2 --batch 2 --seqlen-q 257
check 3 --head-dim 64 --causal bottom-right --heads 4 --seqlen-q 1 --seqlen-kv 1000

"$tessera" tune --quiet --json --specs "$here/specs.json" --bundle "$bundle" --device "$device" --budget "$budget" \
  --log "$results/tune.jsonl" --report "$results/tune.html" "$@" >"$results/tune.json" || failed=1
"$tessera" tune --status --log "$results/tune.jsonl"
exit $failed
