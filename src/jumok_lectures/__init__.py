"""The claims of the lectures as experiments on this machine, one short file each."""

from jumok_lectures.catalog import run

__all__ = ["run"]
