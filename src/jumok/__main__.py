"""`python -m jumok`: the same as the command `jumok`."""

from jumok.cli.main import run

if __name__ == "__main__":
    run()
