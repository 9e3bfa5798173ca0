"""Runs the stages of `jumok prepare` by the executors of datatrove: here, on Slurm, or on Ray.

datatrove starts the tasks of a stage, and marks each that has ended by an empty file, so that the
same command continues after a stop.
"""

import contextlib
import io
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Literal

import multiprocess
from datatrove.executor import LocalPipelineExecutor, SlurmPipelineExecutor
from datatrove.executor.base import PipelineExecutor
from loguru import logger

from jumok.errors import ConfigError, DataError, JumokError, optional_import
from jumok.plugins import load_plugin
from jumok.training.preparing.shards.blocks import settle
from jumok.training.preparing.shards.plan import CorpusPlan, begin
from jumok.training.preparing.shards.stages import STAGES, PrepareStage
from jumok.training.task import Reporter

WorkerKind = Literal["local", "slurm", "ray"]
CLOCKS = 60.0  # seconds by which the clock of a file server may be slow
SLURM = ("partition", "time")  # which every cluster needs


class StageTask:
    """One stage as datatrove calls it, in any process."""

    def __init__(self, plan: CorpusPlan, stage: PrepareStage) -> None:
        self._plan, self._stage = plan, stage

    def __repr__(self) -> str:
        return f"jumok prepare: {self._stage.name}"

    def __call__(self, data: object, rank: int, world_size: int) -> None:
        """Runs the task number `rank`; datatrove gives all three by their place."""
        del data, world_size
        for file in self._plan.config.plugins:
            load_plugin(file)
        since = time.time() - CLOCKS
        try:
            self._stage.run(self._plan, rank)
            settle(self._plan, since)
        except JumokError as error:
            raise DataError(str(error)) from None  # others do not all pass between processes


class LocalExecutor(LocalPipelineExecutor):
    """Without the log of each task on the screen."""

    def _run_for_rank(self, rank: int, local_rank: int = 0, node_rank: int = -1) -> object:
        with contextlib.redirect_stderr(io.StringIO()):
            return super()._run_for_rank(rank, local_rank, node_rank)


def run(
    plan: CorpusPlan,
    workers: WorkerKind,
    at_once: int,
    slurm: Mapping[str, str],
    say: Reporter,
) -> bool:
    """Prepares the corpus, or continues.

    Args:
        at_once: the tasks that run at the same time, on this machine or on Ray.
        slurm: keys of `SlurmPipelineExecutor`, such as partition and time.

    Returns:
        Whether all of it is done; jobs of Slurm run on.

    Raises:
        ConfigError: see `begin`; Slurm is not here, or lacks a key.
        DataError: a corpus that cannot be read, or of which nothing is left.
    """
    logger.remove()  # the log of each task is in a file of its own
    if workers == "slurm":
        _check_slurm(slurm)
    if not begin(plan):
        return True
    if workers == "slurm":
        _submit(plan, slurm)
        return False
    make = _here if workers == "local" else _on_ray
    for stage in STAGES:
        begun = time.perf_counter()
        executor = make(plan, stage, at_once)
        with contextlib.redirect_stderr(io.StringIO()) as output:
            executor.run()
        if missing := len(executor.get_incomplete_ranks(skip_completed=True)):
            raise DataError(
                f"{missing} tasks of the stage {stage.name!r} failed.",
                got=output.getvalue().strip().rpartition("\n")[2][:300] or None,
                do=f"read {plan.work / 'logs' / stage.name}, and give the same command again",
            )
        say(f"{stage.name}: {time.perf_counter() - begun:.0f} s")
    return True


def _executor_settings(plan: CorpusPlan, stage: PrepareStage) -> dict[str, object]:
    return {
        "pipeline": [StageTask(plan, stage)],
        "tasks": 1 if stage.alone else plan.tasks,
        "logging_dir": str(plan.work.absolute() / "logs" / stage.name),
    }


def _here(plan: CorpusPlan, stage: PrepareStage, at_once: int) -> PipelineExecutor:
    # Processes of all stages are copies of one that has imported everything.
    multiprocess.set_forkserver_preload([PrepareStage.__module__])
    return LocalExecutor(**_executor_settings(plan, stage), workers=at_once)


def _on_ray(plan: CorpusPlan, stage: PrepareStage, at_once: int) -> PipelineExecutor:
    with optional_import("preparing on a cluster of Ray", extra="ray"):
        import ray

    if not ray.is_initialized():
        ray.init(logging_level="error", log_to_driver=False)
    with optional_import("preparing on a cluster of Ray", extra="ray"):
        from datatrove.executor import ray as datatrove_ray
    return datatrove_ray.RayPipelineExecutor(**_executor_settings(plan, stage), workers=at_once)


def _check_slurm(slurm: Mapping[str, str]) -> None:
    missing = [key for key in SLURM if key not in slurm]
    if missing:
        raise ConfigError(
            f"Slurm needs {' and '.join(missing)}.",
            do="--slurm partition=NAME --slurm time=04:00:00",
        )
    if shutil.which("sbatch") is None:
        raise ConfigError(
            "Slurm is not on this machine.",
            expected="the program sbatch",
            do="run this on a login node of the cluster, or take --workers local",
        )


def _submit(plan: CorpusPlan, slurm: Mapping[str, str]) -> None:
    """Submits a job array for each stage, which waits for that of the stage before."""
    before: SlurmPipelineExecutor | None = None
    make: Callable[..., SlurmPipelineExecutor] = SlurmPipelineExecutor
    for stage in STAGES:
        values = {key: int(value) if value.isdigit() else value for key, value in slurm.items()}
        try:
            job = make(
                **_executor_settings(plan, stage),
                job_name=f"jumok-{stage.name}",
                depends=before,
                **values,
            )
        except TypeError as error:
            raise ConfigError(
                "--slurm has a key that Slurm's executor does not have.", got=str(error)
            ) from None
        job.run()
        before = job
