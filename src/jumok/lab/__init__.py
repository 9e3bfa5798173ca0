"""The lectures' claims as experiments: one short file each, run on this machine."""

from jumok.lab.from_python import run

__all__ = ["run"]
