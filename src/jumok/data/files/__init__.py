"""Formats of files, and reading and writing them safely."""
