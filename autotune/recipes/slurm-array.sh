#!/usr/bin/env bash
# Tunes in a Slurm job array, one shard a job, and merges what they found into one report.
#
#   slurm-array.sh 8 --dtype bf16 --heads 32 --kv-heads 8 --head-dim 128 --causal bottom-right --seqlen 512,2048,8192 --budget 120s
#
# run where jobs are submitted, in a folder that the nodes share, makes shard-1.jsonl to shard-8.jsonl and tune.html in it, and
# waits for them. Shards do not talk to each other. A second run in the same folder goes on where the first was stopped.
#
# What sbatch reads from its variables says where jobs run: SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT, SBATCH_GPUS=1 and
# so on. TESSERA=/path/to/tessera is the program, where it is not on the path.
#
#SBATCH --job-name=tessera-tune
#SBATCH --output=shard-%a.out
set -euo pipefail
tessera=${TESSERA:-tessera}

# Inside the array: one shard. The flags came with the job.
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  exec "$tessera" tune "$@" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_MAX" --log "shard-$SLURM_ARRAY_TASK_ID.jsonl"
fi

if [ $# -lt 2 ] || ! [[ $1 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $0 SHARDS TUNE-FLAG..." >&2
  exit 2
fi
shards=$1
shift

# A shard that fails does not take the others with it; the exit code of the worst is kept for the end.
failed=0
sbatch --wait --array="1-$shards" "$0" "$@" || failed=$?

shopt -s nullglob
logs=(shard-*.jsonl)
if [ ${#logs[@]} -eq 0 ]; then
  echo "$0: no shard left a log, so there is nothing to merge; what the jobs said is in shard-*.out" >&2
  exit 1
fi
"$tessera" tune --replay "${logs[@]}" --report tune.html
exit "$failed"
