"""The files of deploy/ that train on clusters, as far as they can be tried without one."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

from tests.cli.test_documented import ROOT, unknown

DEPLOY = ROOT / "deploy"
SECONDS = 60
SAYS = '#!/bin/bash\nprintf "%s\\n" "$JUMOK_THREADS" "$@"\n'
STAND_INS = {
    # What Slurm gives: the nodes of the job, and a command that starts another on each of them.
    "scontrol": '#!/bin/bash\n[ "$*" = "show hostnames nodes[1-4]" ] && echo node1\n',
    "srun": '#!/bin/bash\nshift\nexec "$@"\n',
    "torchrun": SAYS,
    "jumok": SAYS,
}
SLURM = {
    "SLURM_JOB_NODELIST": "nodes[1-4]",
    "SLURM_JOB_NUM_NODES": "4",
    "SLURM_JOB_ID": "77",
    "SLURM_CPUS_PER_TASK": "16",
    "SLURM_ARRAY_TASK_ID": "3",
}


@pytest.fixture
def stand_ins(tmp_path: Path) -> dict[str, str]:
    """An environment in which Slurm's commands are ours."""
    for name, text in STAND_INS.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return {**os.environ, **SLURM, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def started(script: str, *arguments: str, environment: dict[str, str]) -> tuple[str, list[str]]:
    """The threads and the arguments with which a script starts torchrun or jumok."""
    command = ["bash", str(DEPLOY / script), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    threads, *words = done.stdout.splitlines()
    return threads, words


def test_slurm_starts_torchrun_on_every_node(stand_ins):
    threads, words = started("slurm.sh", "r.toml", "--resume", environment=stand_ins)
    given = get_args_parser().parse_args(words)
    assert (given.nnodes, given.nproc_per_node) == ("4", "2")
    assert (given.rdzv_backend, given.rdzv_endpoint, given.rdzv_id) == ("c10d", "node1:29400", "77")
    assert given.module
    assert [given.training_script, *given.training_script_args] == [
        *("jumok", "train", "r.toml", "--resume")
    ]
    assert threads == "8"


def test_an_array_of_jobs_has_a_seed_each(stand_ins):
    threads, words = started("slurm-sweep.sh", "r.toml", environment=stand_ins)
    assert words == ["train", "r.toml", "--set", "seed=3", "--name", "seed-3"]
    assert unknown(f"jumok {' '.join(words)}") == []
    assert threads == "16"


def test_pods_of_the_job_find_each_other(tmp_path, stand_ins):
    service, job = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    pod = job["spec"]["template"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    environment |= {"JUMOK_RUNS": str(tmp_path), "JOB_COMPLETION_INDEX": "2"}
    for resumed in (False, True):
        if resumed:
            (tmp_path / "first").mkdir()
            (tmp_path / "first/checkpoint.json").touch()
        done = subprocess.run(
            [*container["command"], *container["args"]],
            env={**stand_ins, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        words = done.stdout.splitlines()
        given = get_args_parser().parse_args(words[words.index("--nnodes") :])
        assert int(given.nnodes) == job["spec"]["completions"] == job["spec"]["parallelism"]
        assert given.node_rank == 2
        host, port = given.rdzv_endpoint.split(":")
        # A pod of an indexed Job is called JOB-INDEX, and its subdomain is that of the Service.
        assert host == f"{job['metadata']['name']}-0.{service['metadata']['name']}"
        assert pod["spec"]["subdomain"] == service["metadata"]["name"]
        assert port == "29400"
        assert ("--resume" in given.training_script_args) is resumed
        command = [given.training_script, *given.training_script_args]
        assert command[:3] == ["jumok", "train", "/recipe/recipe.toml"]
        assert unknown(" ".join(command)) == []
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["spec"]["volumes"]}


def test_scripts_are_bash():
    for script in DEPLOY.glob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True, timeout=SECONDS)
