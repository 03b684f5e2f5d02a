"""``python -m footprint`` is the program ``footprint``."""

from footprint.cli.main import entry

if __name__ == "__main__":
    entry()
