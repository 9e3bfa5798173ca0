"""A plugin for pytest: the kernels under AddressSanitizer and UBSan (`make sanitize`)."""


def pytest_sessionstart() -> None:
    """Before the first test compiles them; a fault ends the process and says where it was."""
    from jumok.kernels.libraries import compiler

    compiler.FLAGS = (
        *("-O1", "-g", "-fno-math-errno", "-shared"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    )
