"""`python -m jumok` is the command `jumok`."""

from jumok.cli.main import run

if __name__ == "__main__":
    run()
