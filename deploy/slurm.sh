#!/bin/bash
# Trains a recipe on several nodes under Slurm:
#
#   sbatch --nodes 4 deploy/slurm.sh recipe.toml
#   sbatch --nodes 4 deploy/slurm.sh recipe.toml --resume     continues, also on 2 nodes or on 1
#
# The recipe's data and the folder of the runs ($JUMOK_RUNS) are on a file system that all nodes
# share. The number of processes, nodes times PROCESSES, is 1, 2, 4, ...
#SBATCH --job-name=jumok
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --output=jumok-%j.txt
# Two minutes before the end all processes are asked to stop, and save a checkpoint.
#SBATCH --signal=TERM@120

set -euo pipefail
: "${PROCESSES:=2}" # of each node
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export JUMOK_THREADS=$((SLURM_CPUS_PER_TASK / PROCESSES))

# srun passes SIGTERM on to each torchrun, which gives its processes 30 seconds to save.
exec srun --kill-on-bad-exit=1 torchrun \
    --nnodes "$SLURM_JOB_NUM_NODES" \
    --nproc-per-node "$PROCESSES" \
    --rdzv-id "$SLURM_JOB_ID" \
    --rdzv-backend c10d \
    --rdzv-endpoint "$first:29400" \
    -m jumok train "$@"
