"""The lectures' claims as experiments: one short file each, run on this machine."""

from jumok_lectures.catalog import run

__all__ = ["run"]
