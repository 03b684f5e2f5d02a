"""What a user calls a device, parsed once: ``cpu``, ``cuda``, ``cuda:1``, ``cuda:*``, ``["cuda:0", "cuda:1"]``, ``null:h100``."""

from __future__ import annotations

from functools import lru_cache

from footprint.errors import ArgumentError

KINDS = ("cpu", "cuda", "opencl", "null")
NAMES = "auto, cpu, cuda, cuda:N, cuda:*, opencl, opencl:N, null or null:PROFILE, or a list of them"


class Device(str):
    """A device's name, or several joined by commas, with what is in it.

    Attributes
    ----------
    kind
        ``cpu``, ``cuda``, ``opencl`` or ``null``, of the first.
    number, profile
        Which of its kind; the machine that ``null`` plans for.
    each
        All of them, one by one.
    """

    kind: str
    number: int
    profile: str
    each: tuple[Device, ...]

    def __new__(cls, name: str) -> Device:
        """Parse a name."""
        self = super().__new__(cls, name)
        first, _, more = name.partition(",")
        self.kind, colon, rest = first.strip().partition(":")
        if self.kind not in KINDS:
            fix = "a GPU is cuda, or opencl" if self.kind.lower() == "gpu" else ""
            raise ArgumentError("device", repr(name), NAMES, fix)
        if colon and not (rest if self.kind == "null" else rest.isdecimal()):
            wanted = f"{self.kind} or {self.kind}:" + ("PROFILE" if self.kind == "null" else "N with N a number")
            raise ArgumentError("device", repr(name), wanted)
        self.profile = rest if self.kind == "null" else ""
        self.number = int(rest) if rest and self.kind != "null" else 0
        self.each = (self,) if not more else tuple(parse(one) for one in name.split(","))
        return self


@lru_cache(maxsize=256)
def parse(name: str) -> Device:
    """The device of a name that is not ``auto`` and has no star."""
    return Device(name.strip())
