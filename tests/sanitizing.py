"""A plugin for pytest: the kernels under AddressSanitizer and UBSan (`make sanitize`)."""


def pytest_sessionstart() -> None:
    """Before the first test compiles them; a fault ends the process and says where it was."""
    from jumok.kernels import building

    building.FLAGS = (
        *("-O1", "-g", "-march=native", "-fno-math-errno", "-shared", "-fPIC"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    )
