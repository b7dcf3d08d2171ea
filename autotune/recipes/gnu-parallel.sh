#!/usr/bin/env bash
# Tunes in shards with GNU parallel, on this machine or on many, and merges what they found into one report.
#
#   gnu-parallel.sh 8 --dtype bf16 --heads 32 --kv-heads 8 --head-dim 128 --causal bottom-right --seqlen 512,2048,8192 --budget 120s
#
# makes shard-1.jsonl to shard-8.jsonl and tune.html in the current folder. Shards do not talk to each other. A second run in the same
# folder goes on where the first was stopped.
#
# On each machine one shard runs at a time, because two would disturb each other's measurements. What GNU parallel reads from the
# variable PARALLEL changes that and the machines:
#
#   PARALLEL='-j 2'                                  two at a time, on simulated devices
#   PARALLEL="--sshloginfile hosts --workdir $PWD"   on the machines in the file `hosts`, which share this folder
#
# TESSERA=/path/to/tessera is the program, where it is not on the path.
set -euo pipefail
if [ $# -lt 2 ] || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $0 SHARDS TUNE-FLAG..." >&2
  exit 2
fi
shards=$1
shift
tessera=${TESSERA:-tessera}
export PARALLEL="-j 1 ${PARALLEL:-}"

# A shard that fails does not take the others with it; its exit code is kept for the end.
failed=0
seq "$shards" | parallel --quote --line-buffer --tagstring 'shard {shard}' -I '{shard}' \
  "$tessera" tune "$@" --shard "{shard}/$shards" --log 'shard-{shard}.jsonl' || failed=$?

shopt -s nullglob
logs=(shard-*.jsonl)
if [ ${#logs[@]} -eq 0 ]; then
  echo "$0: no shard left a log, so there is nothing to merge; where a shard said nothing above, try the program on its machine by hand" >&2
  exit 1
fi
"$tessera" tune --replay "${logs[@]}" --report tune.html
exit "$failed"
