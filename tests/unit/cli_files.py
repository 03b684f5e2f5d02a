"""Good and bad files for the shell's tests, and the shell itself in this process."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from click.testing import CliRunner, Result

from footprint.cli.main import main
from footprint.io.phantom import write_field, write_scan
from tests.unit.io_files import nxtomo

N_ANGLES, N_Z, N_X = 24, 4, 32
FEW = N_ANGLES - 3


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def sentences(self) -> list[str]:
        """Lines of the program itself, warnings apart."""
        return [line for line in self.err.splitlines() if line.startswith("footprint: ") and "warning:" not in line]


def shell(words: str | list[str], code: int = 0) -> Result:
    """Run the program in this process, and look at its exit code."""
    result = CliRunner().invoke(main, shlex.split(words) if isinstance(words, str) else words)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def write_files(folder: Path) -> None:
    """Everything the table of bad input names."""
    write_scan(folder / "scan.nx", n_angles=N_ANGLES, n_z=N_Z, n_x=N_X)
    write_field(folder / "field.fits", n=64, n_sources=6)
    rng = np.random.default_rng(5)
    arrays = {
        "image": rng.standard_normal((40, 30)).astype(np.float32),
        "mask": np.ones((3, 3), np.float32),
        "empty": np.zeros((0, 5), np.float32),
        "constant": np.full((20, 20), 7, np.float32),
        "nan": np.full((20, 20), np.nan, np.float32),
        "line": np.ones(7),
        "cube": np.ones((3, 8, 8)),
        "four-axes": np.ones((2, 3, 8, 8)),
        "complex": np.ones((8, 8), complex),
        "nan-mask": np.array([[1.0, np.nan, 1.0]]),
        "big-mask": np.ones((99, 3)),
        "small-flats": np.ones((2, N_Z, N_X - 1), np.uint16),
        "zero-flats": np.zeros((2, N_Z, N_X), np.uint16),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    for name, share in (("scan.nx", 2), ("field.fits", 2), ("image.npy", 3)):
        whole = (folder / name).read_bytes()
        (folder / f"cut-{name}").write_bytes(whole[: len(whole) // share])
    (folder / "cut-header.fits").write_bytes((folder / "field.fits").read_bytes()[:1000])
    (folder / "words.txt").write_text("These are words.\n")
    (folder / "nothing.fits").touch()
    (folder / "folder").mkdir()
    (folder / "folder" / "notes.txt").write_text("precious")
    nxtomo(folder / "no-projections.nx", [1, 1, 2, 2])
    nxtomo(folder / "no-flats.nx", [2, 0, 0, 0, 0, 0, 0])
    nxtomo(folder / "few-angles.nx", [2, 1, 0, 0, 0], angles=np.arange(4.0))
    nxtomo(folder / "nan-angles.nx", [2, 1, 0, 0, 0, 0], angles=np.array([0, 0, 0, 60, np.nan, 120]))
    with h5py.File(folder / "other.h5", "w") as file:
        file["numbers"] = np.arange(5)
    np.savetxt(folder / "few-angles.txt", np.arange(FEW))
    np.savetxt(folder / "nan-angles.txt", np.where(np.arange(N_ANGLES) == 5, np.nan, np.arange(N_ANGLES)))
    np.savetxt(folder / "few-shifts.txt", np.zeros(FEW))
    np.savetxt(folder / "nan-shifts.txt", np.where(np.arange(N_ANGLES) == 5, np.nan, 0))
    for name in ("taken.npy", "taken.ecsv", "taken.h5", "taken.png"):
        (folder / name).write_text("precious")


def listing(folder: Path) -> dict[str, bytes]:
    """Name and contents of everything in the folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}
