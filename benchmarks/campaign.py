"""What a campaign counts, and of which it draws: see `benchmarks.attack`."""

import subprocess
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jumok.errors import JumokError
from tests.fuzz.mutating import in_time

FULL = {"kills": 60, "readers": 10**6, "documents": 10**6, "requests": 10**6, "trips": 20_000}
FULL |= {"answers": 10**5, "clients": 5_000, "pages": 10_000, "broken": 500}
FULL |= {"workers": 400, "exports": 4_000}
"""The cases at scale 1.0."""

LABELS = (
    *("</script><script>alert(1)</script>", "<!--", "-->", "<img src=x onerror=alert(1)>", "]]>"),
    *("'", '"', "`", "\\", "\u2028", "\u202e", "\x00", "\ud800", "&lt;", "</style>", "${x}"),
    *("javascript:alert(1)", "a" * 5_000, "가" * 500, "", "\n", "<svg onload=alert(1)>", "%00"),
)


@dataclass
class Area:
    """What was tried, and what came of it.

    Attributes:
        told: the first failures.
    """

    name: str
    cases: int = 0
    crashes: int = 0
    hangs: int = 0
    wrong: int = 0
    seconds: float = 0.0
    told: list[str] = field(default_factory=list)

    def fails(self, kind: str, what: str) -> None:
        """Counts a crash, a hang or a wrong answer."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.told) < 20:
            self.told.append(f"{self.name}: {kind}: {what}")

    def tries(self, name: str, case: Callable[[], list[str]]) -> None:
        """One case, which returns what is wrong; an error in plain words is none."""
        with self.trying(name), in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for what in case():
                self.fails("wrong", f"{name}: {what}")

    @contextmanager
    def trying(self, name: str) -> Iterator[None]:
        """Counts the block as a case, and the error that ends it as a failure."""
        self.cases += 1
        try:
            yield
        except JumokError:
            return
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            self.fails("hangs", f"{name}: {error}")
        except (Exception, MemoryError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.fails("crashes", f"{name}: {error!r:.200} at {where.filename}:{where.lineno}")


@dataclass(frozen=True)
class Campaign:
    """What is attacked, and how much of it."""

    model: Path
    folder: Path
    scale: float
    seed: int

    def many(self, name: str, least: int = 1) -> int:
        return max(least, round(FULL[name] * self.scale))
