"""A short form of `make sanitize`: the compiled code with every memory access checked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHORT = (
    *("tests/engine/test_transformer.py", "tests/kernels/test_residual.py"),
    *("tests/kernels/test_attention.py", "tests/fuzz/test_engine.py"),
)
CHOSEN = (
    "post-greedy or pre-beam or fewer_bits or agrees_with_twin or damaged_bundles or "
    "attention_agrees"
)


def sanitizer() -> str:
    """What the process has to load first: gcc's AddressSanitizer, and C++, whose exceptions it
    follows (the tokenizer throws some).
    """
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler here")
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    if not all(map(os.path.isabs, found)):  # the compiler repeats the name of what it lacks
        pytest.skip("the compiler has no libasan: apt install libasan8, or libgcc-12-dev")
    return " ".join(found)


def pytest_under(library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-rs",
        "--capture=sys",
        "-p",
        "tests.sanitizing",
    ]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, **variables},
    )  # fmt: skip


def test_kernels_and_engine_read_and_write_only_what_is_theirs() -> None:
    done = pytest_under(sanitizer(), *SHORT, "-k", CHOSEN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "needs a C compiler" not in done.stdout
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 15


def test_the_sanitizer_notices_what_it_has_to(tmp_path: Path) -> None:
    """A kernel that is told of more numbers than there are ends the process."""
    wrong = tmp_path / "test_wrong.py"
    wrong.write_text(
        "import torch\n"
        "from jumok.kernels import native\n"
        "def test_wrong():\n"
        "    x, y = torch.ones(64), torch.ones(64)\n"
        "    native.call('relu_forward', x.dtype, x, y, 4096, 0, 0)\n"
    )
    done = pytest_under(sanitizer(), str(wrong))
    assert done.returncode
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
    assert "relu_forward_f32" in done.stderr
