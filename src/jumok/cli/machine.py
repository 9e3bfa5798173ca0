"""Warning for training without a C compiler."""

import typer


def say_what_is_missing() -> None:
    """Warns on stderr if a missing C compiler makes training slower."""
    from jumok.kernels.native import library

    if library() is None:
        failed = "the C compiler of this machine cannot compile the kernels: training is slower"
        from jumok.kernels.libraries.compiler import NONE, find_compiler

        typer.echo(NONE if find_compiler() is None else failed, err=True)
