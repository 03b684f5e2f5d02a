"""The program ``footprint``, also as ``python -m footprint``: loads everything else where Ctrl-C already ends in a sentence."""

from __future__ import annotations

import sys


def entry() -> None:
    """What the shell calls."""
    try:
        from footprint.cli.main import entry as run

        run()
    except (KeyboardInterrupt, RuntimeError) as error:
        # One that comes while a class of a library is made is wrapped, up to Python 3.11.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("footprint: stopped; nothing half-written was left behind.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    try:
        entry()
    finally:
        # Python ends by the signal, whatever the exit code, where an interrupt went through a text that was executed, such as a
        # dataclass's while it was imported; it forgets that when it executes another.
        eval("None")
