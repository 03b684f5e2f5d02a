"""Bytes of a chunk compressed and back, by the names that Zarr has for it."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from footprint.errors import FormatError, missing_extra

COMPRESSIONS = {"zarr": ("none", "blosc", "zstd", "gzip"), "hdf5": ("none", "bitshuffle", "gzip")}
"""Ways to compress chunks, by the kind of volume."""
# What each is called in a `.zarray`, with its settings: those that Zarr's own library has by default, but for gzip's level.
_SETTINGS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "blosc": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "zstd": {"id": "zstd", "level": 3},
    "gzip": {"id": "gzip", "level": 4},
}


def check_compression(name: str) -> None:
    """Raise where a way to compress chunks is not installed."""
    if name in ("blosc", "zstd"):
        _codecs()


def settings(name: str, form: int = 2, width: int = 1) -> dict[str, Any] | None:
    """The compressor as a `.zarray` of Zarr 2 tells it, or a codec of Zarr 3 for numbers of so many bytes."""
    how = _SETTINGS[name]
    if form == 2 or how is None:
        return how
    given = {key: value for key, value in how.items() if key != "id"}
    if name == "blosc":
        given |= {"shuffle": "shuffle", "typesize": width}
    elif name == "zstd":
        given["checksum"] = False
    return {"name": name, "configuration": given}


def name_of(compressor: dict[str, Any] | None) -> str:
    """The name of a compressor that is told so."""
    return "none" if compressor is None else str(compressor.get("id") or compressor["name"])


def pack(name: str, array: np.ndarray) -> bytes:
    """The bytes of a C-contiguous array, compressed."""
    how, data = _SETTINGS[name], array.reshape(-1).view(np.uint8).data
    assert how is not None
    if name == "gzip":
        # Without the time, so that equal volumes are equal files.
        return gzip.compress(data, how["level"], mtime=0)
    codecs = _codecs()
    if name == "zstd":
        return bytes(codecs.zstd_encode(data, how["level"]))
    settings = {"compressor": how["cname"], "shuffle": how["shuffle"], "typesize": array.dtype.itemsize}
    return bytes(codecs.blosc_encode(data, how["clevel"], numthreads=1, **settings))


def unpack(name: str, data: bytes, out: np.ndarray, path: Any) -> None:
    """Fill a C-contiguous array; raises FormatError where the data are no such bytes."""
    flat = out.reshape(-1).view(np.uint8)
    try:
        if name == "gzip":
            plain = gzip.decompress(data)
        else:
            codecs = _codecs()
            if name == "blosc" and data[4:8] + data[12:16] != b"".join(n.to_bytes(4, "little") for n in (flat.nbytes, len(data))):
                # Blosc trusts its header, which tells both sizes.
                raise ValueError("its sizes are not those of its header")
            plain = codecs.zstd_decode(data, out=flat.nbytes) if name == "zstd" else codecs.blosc_decode(data)
    except (OSError, EOFError, RuntimeError, ValueError) as error:
        raise FormatError(path, f"its compressed data cannot be read ({error})", "write it again") from error
    if len(plain) != len(flat):
        raise FormatError(path, f"holds {len(plain)} bytes, {len(flat)} were expected", "write it again")
    flat[:] = np.frombuffer(plain, np.uint8)


def _codecs() -> Any:
    try:
        import imagecodecs
    except ImportError:
        raise missing_extra("imagecodecs", "codecs", "compressing by blosc or zstd; --compression gzip needs none") from None
    return imagecodecs
