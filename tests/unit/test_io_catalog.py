"""Catalogues of every format are read back with their units; shift files are checked."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import astropy.units as u
import numpy as np
import pytest
from astropy.io import votable
from astropy.table import Table

from footprint.errors import ArgumentError, FootprintError, FormatError
from footprint.io import shifts
from footprint.io.catalog import check_catalog, read_catalog, write_catalog
from footprint.io.shifts import read_numbers, read_shifts

# Of a Gaussian, full width at half maximum over standard deviation.
WIDTH = 2.3548200450309493


def sources(n: int = 3) -> Table:
    table = Table({"label": np.arange(1, n + 1), "x": np.arange(n) + 0.5, "y": np.arange(n) * 2.0})
    table["ra"], table["dec"] = (266.4 + np.arange(n)) * u.deg, (-29.0 + np.arange(n)) * u.deg
    table["flux"] = np.linspace(1, 2, n) * u.Jy
    table["peak"] = np.linspace(1, 2, n) * u.Jy / u.beam
    table["npix"] = np.full(n, 28)
    return table


@pytest.mark.filterwarnings("ignore::astropy.units.UnitsWarning")
@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("name", ["c.ecsv", "c.fits", "c.vot", "c.xml"])
def test_units_are_kept(tmp_path: Path, name: str, n: int) -> None:
    write_catalog(sources(n), tmp_path / name)
    back = Table.read(tmp_path / name)
    assert len(back) == n and back["flux"].unit == u.Jy and back["ra"].unit == u.deg
    np.testing.assert_array_equal(back["flux"], sources(n)["flux"])
    with pytest.raises(FormatError, match="already exists"):
        write_catalog(sources(n), tmp_path / name)
    write_catalog(sources(1), tmp_path / name, overwrite=True)
    assert len(Table.read(tmp_path / name)) == 1
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("n", [0, 3])
def test_a_votable_tells_noise_threshold_and_beam(tmp_path: Path, n: int) -> None:
    table = sources(n)
    table.meta |= {
        "noise": 1e-3,
        "threshold": np.float64(5e-3),
        "beam_major": 0.01,
        "connectivity": 4,
        "lesson": True,
        "frame": "icrs",
    }
    write_catalog(table, tmp_path / "c.vot")
    (made,) = votable.parse(tmp_path / "c.vot").iter_tables()
    told = {param.name: param.value for param in made.params}
    assert told == table.meta and {param.name: str(param.unit) for param in made.params}["beam_major"] == "deg"
    ucds = {field.name: field.ucd for field in made.fields}
    assert ucds["ra"] == "pos.eq.ra;meta.main" and ucds["flux"] == "phot.flux.density"
    assert not table["ra"].info.meta and list(table.meta) == list(told)
    back = read_catalog(tmp_path / "c.vot").meta
    assert back == table.meta and [type(value) for value in back.values()] == [float, float, float, int, bool, str]


def test_a_fits_table_keeps_metadata_in_small_letters(tmp_path: Path) -> None:
    """As astropy's own reader has them, too; what no header can hold comes as a text."""
    table = sources()
    plain = {"noise": 1e-3, "background_by": "mesh", "fit": "point", "OBSERVER": "me", "lesson": True, "min_area": np.int64(7)}
    table.meta |= plain | {"mean": np.nan, "radii": [1, 2], "warnings": "50 long words; " * 10 + "end", "name": "\u03c3 Ori"}
    write_catalog(table, tmp_path / "c.fits")
    assert table.meta["mean"] is np.nan
    for back in (Table.read(tmp_path / "c.fits"), read_catalog(tmp_path / "c.fits")):
        assert {name: back.meta[name] for name in plain} == plain and back.meta["warnings"].endswith("words; end")
        assert (back.meta["mean"], back.meta["radii"], back.meta["name"]) == ("nan", "[1, 2]", "\\u03c3 Ori")


@pytest.mark.parametrize("n", [0, 3])
def test_parquet_keeps_columns_units_and_metadata(tmp_path: Path, n: int) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = sources(n)
    table["name"] = np.array([b"J1", b"J22", b"J3"][:n], "S3")
    table["npix"].description = "number of pixels"
    table["big"] = np.arange(n).astype(">f8")
    table.meta |= {"noise": np.float64(1e-3), "frame": "icrs"}
    write_catalog(table, tmp_path / "c.parquet")
    back = parquet.read_table(tmp_path / "c.parquet")
    assert back.column_names == table.colnames and back.num_rows == n
    assert back.schema.field("flux").metadata == {b"unit": b"Jy"} and back["name"].to_pylist() == ["J1", "J22", "J3"][:n]
    assert all(np.array_equal(back[name].to_numpy(), np.asarray(table[name])) for name in table.colnames if name != "name")
    assert json.loads(back.schema.metadata[b"footprint"]) == {"noise": 1e-3, "frame": "icrs"}
    read = read_catalog(tmp_path / "c.parquet")
    assert read.meta == {"noise": 1e-3, "frame": "icrs"}
    assert all(read[name].unit == table[name].unit for name in table.colnames)
    assert all(read[name].description == table[name].description for name in table.colnames)


def test_parquet_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FootprintError, match=r"pyarrow.*footprint\[parquet\]"):
        check_catalog(tmp_path / "c.parquet")


def test_names_are_text_in_every_format(tmp_path: Path) -> None:
    table = sources()
    table["name"] = np.array([b"J1", b"J22", b"J3"])
    for name in ("c.csv", "c.ecsv", "c.vot", "c.fits"):
        write_catalog(table, tmp_path / name)
        assert [str(word) for word in Table.read(tmp_path / name)["name"]] == ["J1", "J22", "J3"]
    assert "b'" not in (tmp_path / "c.csv").read_text()


@pytest.mark.parametrize("n", [0, 3])
def test_csv_has_units_in_the_names(tmp_path: Path, n: int) -> None:
    write_catalog(sources(n), tmp_path / "c.csv")
    lines = (tmp_path / "c.csv").read_text().splitlines()
    assert lines[0].replace('"', "").split(",")[:6] == ["label", "x", "y", "ra [deg]", "dec [deg]", "flux [Jy]"]
    assert len(lines) == n + 1


def test_regions(tmp_path: Path) -> None:
    write_catalog(sources(), tmp_path / "c.reg")
    lines = (tmp_path / "c.reg").read_text().splitlines()
    assert lines[2] == "icrs" and lines[3] == "circle(266.40000000,-29.00000000,2.99i) # text={1}" and len(lines) == 6
    table = sources()["label", "x", "y"]
    write_catalog(table, tmp_path / "p.reg")
    assert (tmp_path / "p.reg").read_text().splitlines()[2:4] == ["image", "circle(1.50000000,1.00000000,1.69) # text={1}"]
    with pytest.raises(ArgumentError, match="columns ra and dec, or x and y"):
        write_catalog(table["label",], tmp_path / "q.reg")
    assert not (tmp_path / "q.reg").exists()


def test_a_fitted_gaussian_is_an_ellipse(tmp_path: Path) -> None:
    """DS9 turns ellipses from west through north, and has half axes; what has no fit stays a circle."""
    table = sources(2)
    for name, values, unit in (
        ("fit_x", [1.5, np.nan], None), ("fit_y", [2.0, 2], None), ("fit_a", [3.0, 3], None), ("fit_b", [2.0, 2], None),
        ("fit_theta", [20, 20], u.deg), ("fit_ra", [266.4, np.nan], u.deg), ("fit_dec", [-29.0, -28], u.deg),
        ("fit_major", [0.1, 0.1], u.arcmin), ("fit_minor", [4.0, 4], u.arcsec), ("fit_pa", [30, 30], u.deg),
    ):  # fmt: skip
        table[name] = values
        table[name].unit = unit
    write_catalog(table, tmp_path / "c.reg")
    lines = (tmp_path / "c.reg").read_text().splitlines()[3:]
    assert lines[0] == 'ellipse(266.40000000,-29.00000000,3",2",120.000) # text={1}' and lines[1].startswith("circle(267.4")
    table.remove_columns(["ra", "dec"])
    write_catalog(table, tmp_path / "p.reg")
    line, other = (tmp_path / "p.reg").read_text().splitlines()[3:]
    assert line == f"ellipse(2.50000000,3.00000000,{1.5 * WIDTH:.8g},{WIDTH:.8g},20.000) # text={{1}}"
    assert other.startswith("circle(2.5")


def test_bad_targets(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"a name ending in one of \.ecsv"):
        check_catalog(tmp_path / "c.txt")
    with pytest.raises(FormatError, match="does not exist"):
        check_catalog(tmp_path / "none" / "c.csv")


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 16])
def test_shifts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    # Words, comments and lines go over the ends of pieces.
    monkeypatch.setattr(shifts, "_PIECE", piece)
    (tmp_path / "s.txt").write_text("# pixels\n1.5\n-2\n\n3e0 # last\n")
    np.testing.assert_array_equal(read_shifts(tmp_path / "s.txt", 3), [1.5, -2, 3])
    np.save(tmp_path / "s.npy", np.array([[1], [2]], np.float16))
    np.testing.assert_array_equal(read_shifts(tmp_path / "s.npy", 2), [1, 2])
    (tmp_path / "row.txt").write_text("1, 2, 3")
    np.testing.assert_array_equal(read_shifts(f"{tmp_path}/row.txt[1:]", 2), [2, 3])
    np.testing.assert_array_equal(read_numbers(f"{tmp_path}/row.txt[:-1]", "angles"), [1, 2])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1\n2\n", "lists 2 shifts for 3 projections"),
        ("1\n2\n3\n4", r'select its lines as "'),
        ("1\nx\n3", "could not convert"),
        ("1\nnan\n3", "1 of its shifts are NaN or infinite, the first is number 1"),
        ("", "the file is empty"),
        ("# no\n", "holds no shifts"),
        ("1 2\n3 4\n5 6", r"shape \(3, 2\)"),
        ("1 2\n3", "differ in how many numbers they hold"),
        ("\x00\x01", "cannot be read"),
    ],
)
def test_bad_shifts(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "s.txt").write_text(text)
    with pytest.raises(FormatError, match=match) as caught:
        read_shifts(tmp_path / "s.txt", 3)
    assert "\n" not in str(caught.value)


def test_binary_shifts(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes(bytes(range(256)))
    with pytest.raises(FormatError, match="cannot be read"):
        read_shifts(tmp_path / "s.txt", 3)
    np.save(tmp_path / "s.npy", np.array(["a"]))
    with pytest.raises(FormatError, match="wanted real numbers"):
        read_shifts(tmp_path / "s.npy", 1)


def test_a_line_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("," * 300_000 + "\n")
    with pytest.raises(FormatError, match="more than 10000 columns"):
        read_catalog(tmp_path / "c.csv")
