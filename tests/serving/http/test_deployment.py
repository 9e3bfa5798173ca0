"""The files of deploy/ fit the command that they start."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import JumokError
from jumok.serving.http.server import EXIT_BROKEN

ROOT = Path(__file__).parents[3]
FILES = ("Dockerfile", "compose.yaml", "jumok.service")


def written(name: str) -> str:
    return (ROOT / "deploy" / name).read_text("utf-8")


@pytest.mark.parametrize("name", FILES)
def test_every_option_of_serve_exists(name):
    described = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "200"}).output
    commands = [
        line
        for line in written(name).splitlines()
        if re.match(r"CMD \[\"/|ExecStart|    command", line)
    ]
    (command,) = commands
    options = re.findall(r"--[a-z-]+", command)
    assert options
    assert not [option for option in options if option not in described]


def test_the_image_installs_what_the_project_has():
    extras = re.search(r'"\.\[(.*)\]"', written("Dockerfile"))[1].split(",")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{extra} = \[", project, re.M) for extra in extras)
    assert "constraints.txt" in written("Dockerfile")
    assert (ROOT / "constraints.txt").is_file()


def test_both_wait_for_the_running_requests_and_restart_what_broke():
    """10 seconds of --grace, and 60 of --deadline."""
    unit, compose = written("jumok.service"), written("compose.yaml")
    assert int(re.search(r"TimeoutStopSec=(\d+)", unit)[1]) >= 70
    assert int(re.search(r"stop_grace_period: (\d+)s", compose)[1]) >= 70
    assert f"RestartPreventExitStatus={JumokError.exit_code}" in unit
    assert JumokError.exit_code != EXIT_BROKEN


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_unit(tmp_path):
    unit = tmp_path / "jumok.service"
    unit.write_text(written("jumok.service").replace("/opt/jumok/bin/jumok", "/bin/true"))
    run = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
