#!/bin/bash
# One run of a sweep on each node under Slurm, as an array of jobs; no network is needed:
#
#   sbatch --array=1-6 deploy/slurm-sweep.sh recipe.toml --set model.dropout=0.2
#
# Job N trains with seed N. The folder of the runs ($JUMOK_RUNS) is on a shared file system.
#SBATCH --job-name=jumok-seeds
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --output=jumok-%A-%a.txt
#SBATCH --signal=B:TERM@120

set -euo pipefail
seed=$SLURM_ARRAY_TASK_ID
export JUMOK_THREADS=$SLURM_CPUS_PER_TASK
exec jumok train "$@" --set "seed=$seed" --name "seed-$seed"
