#!/usr/bin/env bash
# A suite over many GPUs, a shard per task, nothing of our own between them:
#   job=$(sbatch --parsable --array=1-64 slurm-array.sh)
#   sbatch --dependency=afterany:$job slurm-array.sh gate
# Tasks that get whole nodes share each shard out among the node's GPUs, which take case after case:
#   job=$(DEVICE=cuda:all sbatch --parsable --array=1-8 --gpus=8 slurm-array.sh)
# One host with several GPUs needs neither shards nor this script:
#   ulpscope run --suite nightly --device cuda:all --captures out/captures --json out/record.json
#SBATCH --job-name=ulpscope
#SBATCH --gpus=1
#SBATCH --time=02:00:00
set -euo pipefail
suite=${SUITE:-nightly}
out=${OUT:-out/$suite}
ulpscope=${ULPSCOPE:-build/cuda/ulpscope}
budgets=${BUDGETS:-cases/budgets/project.toml}
device=${DEVICE:-} # cuda:all, cuda:0,1; else what the suite says
mkdir -p "$out"

if [[ ${1:-} == gate ]]; then
  # A shard that did not finish left no record: merging says which.
  "$ulpscope" merge "$out"/shard-*.json --out "$out/record.json"
  exec "$ulpscope" gate "$out/record.json" --budgets "$budgets" ${BASELINE:+--baseline "$BASELINE"} --json "$out/gate.json"
fi

: "${SLURM_ARRAY_TASK_ID:?submit it as an array: sbatch --array=1-N}" "${SLURM_ARRAY_TASK_COUNT:?}"
# Requeued tasks go on where their captures end. 1 and 3 are for the gate to decide, 2 is an error.
"$ulpscope" run --suite "$suite" ${device:+--device "$device"} --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --captures "$out/captures" --json "$out/shard-$SLURM_ARRAY_TASK_ID.json" || test $? -ne 2
