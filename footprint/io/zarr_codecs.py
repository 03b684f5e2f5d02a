"""What compressed chunks of Zarr decode to, found before the library decodes them: it believes a chunk, however much that takes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from footprint.errors import FormatError
from footprint.io.coded import announced_zstd

# Bytes taken or made at a time while they are counted, and the most that one block of Zstandard makes.
_PIECE, _ZSTD_BLOCK = 1 << 16, 1 << 17
# What bz2 works in, whatever it decodes.
_BZ2 = 4 << 20
# Codecs that make as many numbers as they are given, of other bytes at most. Others (pickle runs what it reads) are refused.
_EVEN = {"adler32", "astype", "bitround", "crc32", "crc32c", "delta", "fixedscaleoffset", "fletcher32", "quantize"}
# Those of them that put a sum of so many bytes before or after the others, and where, unless they say.
_SUMS = {"adler32": "start", "crc32": "start", "crc32c": "end", "fletcher32": "end"}
_SUM = 4
_SAME = {"bytes", "shuffle", "transpose"}
_DTYPES = ("dtype", "astype", "encode_dtype", "decode_dtype")

_TOO_MUCH = "it decodes to more than the {} bytes of its shape"

Codec = Mapping[str, Any]


def codec_of(told: Sequence[Any], path: object) -> tuple[Codec | None, bool]:
    """The codec of Zarr 2 or 3 that compresses, with its settings, and whether others change how many bytes there are.

    ``start`` and ``end`` are bytes that stand before and after what it makes. FormatError for codecs that are not read here.
    """
    found: dict[str, Any] | None = None
    wider = False
    for each in told:
        name = str(each.get("id") or each["name"]).removeprefix("numcodecs.")
        settings = {**each, **(each.get("configuration") or {}), "id": name}
        problem = ""
        if name in _KNOWN and found is not None:
            problem = f"is compressed more than once, by {found['id']} and {name}, which is not read"
        elif name in _KNOWN:
            found = settings | {"start": 0, "end": 0}
        elif name not in _EVEN | _SAME:
            problem = f"has the codec {name}, which is not read, only {', '.join(_KNOWN)}"
        elif found is not None and name in _SUMS:
            found["start" if settings.get("location", _SUMS[name]) == "start" else "end"] += _SUM
        elif found is not None:
            problem = f"is changed by {name} after it is compressed, which is not read"
        if any(np.dtype(settings[key]).kind not in "biuf" for key in _DTYPES if key in settings):
            problem = f"has the codec {name}, which makes something else than numbers"
        if problem:
            raise FormatError(path, problem, "write it by one of these codecs alone" if found is None else "write it by one codec")
        wider |= name in _EVEN
    return found, wider


def check_made(codec: Codec | None, data: bytes, most: int) -> None:
    """Raise ValueError where data decode to more than so many bytes."""
    if codec is None:
        made = len(data)
    else:
        data = data[codec["start"] : max(len(data) - codec["end"], 0)]
        made = (
            _counted(_PIECES[codec["id"]](codec, data), most) if codec["id"] in _PIECES else _SAID[codec["id"]](codec, data, most)
        )
    if made > most:
        raise ValueError(_TOO_MUCH.format(most))


def decoded_here(codec: Codec | None) -> bool:
    """Whether `decode` knows the codec."""
    return codec is not None and codec["id"] in _PIECES


def decoding_bytes(codec: Codec, most: int) -> int:
    """Bytes that `decode` takes beside ``out``: what is stored, pieces, and the codec's own, of a chunk of so many."""
    stored = most + most // 8
    own = {"bz2": _BZ2, "lzma": most}.get(codec["id"], 0)
    return stored + own + 4 * _PIECE


def decode(codec: Codec, data: bytes, out: memoryview) -> None:
    """Fill ``out`` with what data decode to; ValueError where that is more, before it is made, or less."""
    done = 0
    for piece in _PIECES[codec["id"]](codec, data):
        if done + len(piece) > len(out):
            raise ValueError(_TOO_MUCH.format(len(out)))
        out[done : done + len(piece)] = piece
        done += len(piece)
    if done < len(out):
        raise ValueError(f"it decodes to {done} bytes, its shape has {len(out)}")


def _inflated(data: bytes) -> Iterator[bytes]:
    """What a zlib stream inflates to."""
    engine = zlib.decompressobj()
    for at in range(0, len(data), _PIECE):
        piece, made = data[at : at + _PIECE], b"first"
        while not engine.eof and (piece or made):
            made = engine.decompress(piece, _PIECE)
            piece = engine.unconsumed_tail
            yield made


def _counted(pieces: Iterator[bytes], most: int) -> int:
    """Bytes of some pieces; enough of them where there are more than ``most``."""
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > most:
            break
    return total


def _of_file(file: Any) -> Iterator[bytes]:
    """What a compressed file holds."""
    return iter(lambda: file.read(_PIECE), b"")


def _lzma(codec: Codec, data: bytes) -> Iterator[bytes]:
    how = {"format": codec.get("format", lzma.FORMAT_XZ), "filters": codec.get("filters")}
    return _of_file(lzma.LZMAFile(io.BytesIO(data), **how))


def _zstd(codec: Codec, data: bytes, most: int) -> int:
    """As a frame says; where it does not, the library makes room as it goes, for what its blocks make at most."""
    said = announced_zstd(data[:32])
    if said >= 0 or data[:4] != b"\x28\xb5\x2f\xfd" or len(data) < 6:
        return said
    flags, made = data[4], 0
    at = 5 + (not flags >> 5 & 1) + (0, 1, 2, 4)[flags & 3]
    last = 0
    while not last and at + 3 <= len(data):
        head = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        made += _ZSTD_BLOCK if kind == 2 else size
        at += 3 + (1 if kind == 1 else size)
    # Of its blocks any may make less.
    return made if made > 2 * most + _ZSTD_BLOCK else min(made, most)


# Codecs that are inflated piece by piece, and those that say beforehand what they make, or at most.
_PIECES: dict[str, Callable[[Codec, bytes], Iterator[bytes]]] = {
    "bz2": lambda codec, data: _of_file(bz2.BZ2File(io.BytesIO(data))),
    "gzip": lambda codec, data: _of_file(gzip.GzipFile(fileobj=io.BytesIO(data))),
    "lzma": _lzma,
    "zlib": lambda codec, data: _inflated(data),
}
_SAID: dict[str, Callable[[Codec, bytes, int], int]] = {
    "blosc": lambda codec, data, most: int.from_bytes(data[4:8], "little"),
    "lz4": lambda codec, data, most: int.from_bytes(data[:4], "little"),
    "zstd": _zstd,
}
_KNOWN = sorted({*_PIECES, *_SAID})
