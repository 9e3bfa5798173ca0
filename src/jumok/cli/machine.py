"""What the machine lacks, said by the verbs that train."""

import typer


def say_what_is_missing() -> None:
    """One line on standard error where training is slower than it could be."""
    from jumok.kernels.compiler import NONE, find_compiler
    from jumok.kernels.native import library

    if library() is None:
        failed = "the C compiler of this machine cannot make the kernels: training is slower"
        typer.echo(NONE if find_compiler() is None else failed, err=True)
