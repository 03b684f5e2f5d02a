"""What devices do in a second: the one table that costs, choices and predictions go by."""

from __future__ import annotations

from dataclasses import dataclass

from footprint.spec import Limits


@dataclass(frozen=True)
class Rates:
    """Rates of one device, a second each.

    Attributes
    ----------
    memory
        Bytes read and written where kernels run.
    flops
        Multiply-adds count as two.
    launch
        Seconds to start a kernel.
    link
        Bytes across the bus, each way; infinite where there is none.
    copy
        Bytes copied between the caller's pages and ours.
    disk
        Bytes read from, or written to, files.
    updates
        Updates of a pixel by an angle, in backprojection.
    transforms
        Operations of Fourier transforms of tiles, in a core's cache or on a GPU's chip.
    looks
        Looks at values, one after another: what branches, follows pointers or sorts. A core's is a nanosecond.
    part
        Seconds a part costs beside its work: threads that wake each other.
    """

    memory: float
    flops: float
    launch: float
    link: float
    copy: float
    updates: float
    disk: float = 2e9
    part: float = 1e-4
    transforms: float = 0.0
    looks: float = 1e9


_NONE = float("inf")
# Measured: an H100 (benchmarks/gpu.py), a core of a 2.5 GHz Xeon (benchmarks/convolve.py).
_GPU = Rates(2.9e12, 46e12, 4e-6, 50e9, 20e9, 3e12, part=1e-3, transforms=15e12, looks=3e11)
_CORE = Rates(10e9, 150e9, 2e-6, _NONE, 6e9, 6e9, transforms=60e9)

# Bytes a second that come of decompressing, and seconds each chunk takes beside: 16-bit counts, one thread of such a core.
_DECODE, _CHUNK = {"deflate": 2e8, "bitshuffle": 3e9}, 3e-5


def rates(limits: Limits) -> Rates:
    """Rates of a device of these limits: by its kind, its cores and threads."""
    if limits.family == "gpu":
        # OpenCL on a processor, as in tests, has few compute units.
        share = min(max(limits.cores, 1) / 132, 1.0)
        memory, flops, copy = _GPU.memory * share, _GPU.flops * share, _GPU.copy * max(share, 0.1)
        updates, transforms, looks = _GPU.updates * share, _GPU.transforms * share, _GPU.looks * share
        return Rates(memory, flops, _GPU.launch, _GPU.link, copy, updates, part=_GPU.part, transforms=transforms, looks=looks)
    n = max(limits.threads, 1)
    memory, copy = _CORE.memory * min(n, 8), _CORE.copy * min(n, 8)
    updates, transforms, looks = _CORE.updates * n, _CORE.transforms * n, _CORE.looks * n
    return Rates(memory, _CORE.flops * n, _CORE.launch, _NONE, copy, updates, transforms=transforms, looks=looks)


def decoding(nbytes: float, chunks: float, threads: int = 1, method: str = "deflate") -> float:
    """Seconds to decompress so many chunks that make so many bytes: on the host, whatever device computes."""
    return nbytes / (_DECODE[method] * threads) + chunks * _CHUNK


@dataclass(frozen=True)
class Cost:
    """What an operation takes: bytes moved where kernels run, operations, launches, operations of transforms of tiles, looks."""

    nbytes: float = 0.0
    flops: float = 0.0
    launches: int = 1
    transforms: float = 0.0
    looks: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        launches, transforms = self.launches + other.launches, self.transforms + other.transforms
        return Cost(self.nbytes + other.nbytes, self.flops + other.flops, launches, transforms, self.looks + other.looks)

    def times(self, share: float) -> Cost:
        """That of so many times the rows, without the starts."""
        return Cost(share * self.nbytes, share * self.flops, 0, share * self.transforms, share * self.looks)

    def seconds(self, rate: Rates) -> float:
        """By a device's rates: the slower of moving and computing, and the starts."""
        computing = self.flops / rate.flops + self.looks / rate.looks
        computing += self.transforms / rate.transforms if self.transforms else 0.0
        return max(self.nbytes / rate.memory, computing) + self.launches * rate.launch
