"""The program ``footprint``, also as ``python -m footprint``: loads everything else where Ctrl-C already ends in a sentence."""

from __future__ import annotations

import sys


def entry() -> None:
    """What the shell calls."""
    try:
        from footprint.cli.main import entry as run

        run()
    except KeyboardInterrupt:
        print("footprint: stopped; nothing half-written was left behind.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    entry()
