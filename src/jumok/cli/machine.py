"""A warning of the commands that train, if this machine lacks a C compiler."""

import typer

from jumok.late import late_imports

with late_imports():
    from jumok.kernels import native
    from jumok.kernels.libraries import compiler


def say_what_is_missing() -> None:
    """Warns in one line on stderr if training is slower than it could be."""
    if native.library() is None:
        failed = "the C compiler of this machine cannot compile the kernels: training is slower"
        typer.echo(compiler.NONE if compiler.find_compiler() is None else failed, err=True)
