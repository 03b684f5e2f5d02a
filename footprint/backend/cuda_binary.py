"""Machine code of kernel texts by NVRTC, kept on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from cupy.cuda import nvrtc

from footprint import settings
from footprint.backend.compiling import compiling
from footprint.errors import BackendError


def binary(source: str, arch: str) -> bytes:
    """Machine code of a text, from disk where it has been compiled before."""
    options = (f"--gpu-architecture={arch}", "--std=c++17", "--fmad=true")
    version = f"{nvrtc.getVersion()}{options}"
    name = hashlib.sha256(f"{version}\n{source}".encode()).hexdigest()[:40] + ".cubin"
    path = settings.cache_dir() / "cuda" / name
    with contextlib.suppress(OSError):
        return path.read_bytes()
    made = nvrtc.createProgram(source, "kernel.cu", (), ())
    try:
        with compiling():
            nvrtc.compileProgram(made, options)
        code = bytes(nvrtc.getCUBIN(made))
    except nvrtc.NVRTCError:
        log = nvrtc.getProgramLog(made)
        raise BackendError("cuda", f"NVRTC could not compile a kernel for {arch}:\n{log}", "please report this") from None
    finally:
        nvrtc.destroyProgram(made)
    _keep(path, code)
    return code


def _keep(path: Path, code: bytes) -> None:
    """Write under another name first: another process may read the cache at this moment. A full disk only costs time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(code)
        part.replace(path)
