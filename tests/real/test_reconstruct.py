"""Real scans from the shell: known axes, formats that agree, budgets a quarter of the whole, and one sentence for what is wrong."""

import ast
import functools
import json
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pytest
import tifffile
from click.testing import CliRunner

import footprint as fp
from footprint.cli.reconstruct import command
from tests.ways import falling

TOOTH = "tomopy_tooth/tooth.h5"


def run(*words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


TWICE = "import sys; from tests.real.test_reconstruct import run; run(*sys.argv[1:]); print(run(*sys.argv[1:], '--overwrite'))"


def run_in_its_plan(*words):
    """The report of a second run, whose peak is within its plan: the first compiles and loads code, which no plan counts.

    They have a process of their own: one that has run thousands of tests has garbage of theirs, and pages that the system took.
    """
    done = subprocess.run([sys.executable, "-c", TWICE, *map(str, words)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    report = ast.literal_eval(done.stdout)
    assert report["measured_peak"] is None or report["measured_peak"] <= report["plan_total"] + (512 << 10), report
    return report


def volume(path):
    with h5py.File(path) as file:
        group = file["entry/reconstruction"]
        return group["results/data"][()], dict(group.attrs)


def test_the_tooth_from_both_formats_is_one_volume(data, tmp_path):
    found = []
    for name in (TOOTH, "tooth_nxtomo.nx"):
        target, png = tmp_path / f"{len(found)}.h5", tmp_path / f"{len(found)}.png"
        words = ("-o", target, "--png", png, "--json", "--device", "cpu", "--pixel-size", "none")
        report = run_in_its_plan(data / "tomography" / name, *words)
        slices, about = volume(target)
        assert abs(report["center"] - 295.8) < 0.5 and report["center"] == about["center"] and report["center_score"] > 0.95
        assert report["shape"] == [2, 640, 640] == list(slices.shape) and about["unit"] == "1/pixel"
        assert png.stat().st_size > 10000
        found.append(slices)
    np.testing.assert_array_equal(found[0], found[1])
    # a tooth: dense inside, air around it
    inside, corner = found[0][0, 220:420, 220:380].mean(), found[0][0, :60, :60].mean()
    assert inside > 10 * abs(corner)


@pytest.mark.parametrize(
    ("name", "center"),
    [(TOOTH, "auto"), ("tooth_nxtomo.nx", "auto"), ("savu_24737_nxtomo.nx", "auto"), ("diad_k11/k11-18014.nxs", 12.5)],
)
@pytest.mark.parametrize("written", [True, False])
def test_a_quarter_of_the_memory_gives_the_same(data, tmp_path, name, center, written):
    settings = {"center": center, "method": "direct", "device": "cpu"}
    plans = []
    with fp.open_scan(data / "tomography" / name) as scan:

        def job(memory):
            if not written:
                return fp.reconstruct(scan, memory=memory, on_plan=plans.append, **settings)
            target = tmp_path / f"{len(plans)}.h5"
            with fp.create_volume(target, (scan.n_z, scan.n_x, scan.n_x)) as out:
                fp.reconstruct(scan, memory=memory, out=out, on_plan=plans.append, **settings)
            return volume(target)[0]

        whole = job("4GB")
        assert (plans[0].chunk is None or plans[0].chunk.unit == "slices") and not any(
            "does not fit" in note for note in plans[0].notes
        )
        quarter = plans[0].footprint.total // 4
        part = job(quarter)
    assert plans[1].footprint.total <= quarter and len(plans[1].chunks) > 1
    np.testing.assert_allclose(part, whole, rtol=0, atol=1e-5 * np.abs(whole).max())
    if written and "tooth" in name:
        assert "rows of a slice" in [cut.unit for cut in plans[1].cuts], "two slices of 640 x 640 are a quarter only in tiles"
    else:
        np.testing.assert_array_equal(part, whole)


def test_the_shell_takes_a_quarter_too(data, tmp_path):
    words = (data / "tomography" / TOOTH, "--method", "direct", "--center", "295.8", "--circle", "--json", "--device", "cpu")
    whole = run(*words, "-o", tmp_path / "whole.h5")
    part = run_in_its_plan(*words, "-o", tmp_path / "slices", "--memory", whole["plan_total"] // 4)
    assert part["shape"] == [2, 640, 640] and part["plan_total"] <= whole["plan_total"] // 4 and part["runs"] > 2
    want = volume(tmp_path / "whole.h5")[0]
    for got, slice_ in zip(sorted((tmp_path / "slices").glob("*.tif")), want, strict=True):
        np.testing.assert_allclose(tifffile.imread(got), slice_, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    ("name", "center", "method"),
    [(TOOTH, "auto", "direct"), (TOOTH, "auto", "fourier"), ("diad_k11/k11-18014.nxs", 12.5, "direct")],
)
def test_the_smallest_budget_gives_the_same(data, name, center, method):
    """Far below a quarter: what the smallest run of all takes. Of the third scan three rows are hundreds of parts."""
    rows = (9, 12) if name != TOOTH else None
    settings = {"center": center, "method": method, "rows": rows, "device": "cpu"}
    with fp.open_scan(data / "tomography" / name) as scan:
        whole = fp.reconstruct(scan, memory="4GB", **settings)
        plan = functools.partial(fp.plan_reconstruct, scan, method=method, rows=rows, device="cpu")
        with pytest.raises(fp.BudgetError) as caught:
            plan(memory=1)
        part = fp.reconstruct(scan, memory=caught.value.smallest, **settings)
        if method == "fourier":
            memory = next(memory for way, memory in falling(lambda memory: plan(memory=memory)) if way == "za")
            groups = fp.reconstruct(scan, memory=memory, **settings)
            assert np.linalg.norm(groups - whole) <= 1e-5 * np.linalg.norm(whole)
    # Each tile by the Fourier method has a grid of its own, whose taps err as the whole's do: measured 2e-5.
    assert np.linalg.norm(part - whole) <= (4e-5 if method == "fourier" else 1e-5) * np.linalg.norm(whole)
    if method == "direct":
        np.testing.assert_array_equal(part, whole)


def test_savus_axis(data, tmp_path):
    report = run(data / "tomography" / "savu_24737_nxtomo.nx", "--rows", "60:75", "-o", tmp_path / "v.h5", "--json")
    assert abs(report["center"] - 85.9) < 1 and report["center_score"] > 0.9 and report["shape"] == [15, 160, 160]
    folder = data / "tomography" / "savu_24737_tiff"
    own = ("--flats", folder / "flat_00001.tiff", "--darks", folder / "dark_00001.tiff")
    slices, png = tmp_path / "slices", tmp_path / "s.png"
    chosen = ("--angles", f"{folder / 'angles.txt'}[10:101]", "--rows", "60:75")
    tiff = run(folder / "tiffs", *own, *chosen, "-o", slices, "--png", png, "--json")
    assert abs(tiff["center"] - report["center"]) < 0.05 and len(list(slices.glob("*.tif"))) == 15


@pytest.mark.parametrize(
    ("name", "method", "center"),
    [
        (TOOTH, "vo", 295.8),
        (TOOTH, "growing-window", 295.8),
        (TOOTH, "sliding-window", 295.8),
        ("savu_24737_nxtomo.nx", "growing-window", 85.9),
        ("savu_24737_nxtomo.nx", "sliding-window", 85.9),
        ("savu_24737_nxtomo.nx", "vo", 85.9),
    ],
)
def test_every_method_finds_the_axis(data, name, method, center):
    with fp.open_scan(data / "tomography" / name) as scan, warnings.catch_warnings():
        # Savu's sample is a little wider than its detector, which Vo's metric is told of.
        warnings.filterwarnings("ignore", ".*wider than the detector")
        axis = fp.rotation_axis(scan, method=method)
    assert abs(axis.center - center) < 0.5 and axis.score > 0.6 and axis.spread < 0.3


def test_diad_is_doubtful(data):
    """Its few angles say too little: the search says so."""
    with fp.open_scan(data / "tomography" / "diad_k11" / "k11-18014.nxs") as scan, pytest.warns(UserWarning, match="doubtful"):
        fp.rotation_axis(scan)


def test_the_tooth_about_several_axes(data, tmp_path):
    words = (data / "tomography" / TOOTH, "--center", "try:294.8:296.8:1", "--png", tmp_path / "t.png", "--json", "--device", "cpu")
    run_in_its_plan(*words, "-o", tmp_path / "tries")
    assert [p.name for p in sorted((tmp_path / "tries").iterdir())] == [f"center_{c}.tif" for c in (294.8, 295.8, 296.8)]


def test_diad_through_its_external_links(data, tmp_path):
    scan = data / "tomography" / "diad_k11" / "k11-18014.nxs"
    report = run(scan, "--center", "12.5", "-o", tmp_path / "v.tif", "--memory", "30MB", "--circle", "--json")
    assert report["shape"] == [22, 26, 26] and report["plan_total"] <= 30e6


@pytest.mark.parametrize(
    ("words", "error", "word"),
    [
        (["--center", "1900"], fp.ArgumentError, "off either end"),
        (["--center", "left"], fp.ArgumentError, "--center"),
        (["--filter", "sharp"], fp.ArgumentError, "ramlak"),
        (["--rows", "5"], fp.ArgumentError, "A:B"),
        (["--rows", "a:b"], fp.ArgumentError, "A:B"),
        (["--rows", "2:9"], fp.ArgumentError, "both from 0 to 2"),
        (["--roi", "1,2,3"], fp.ArgumentError, "X0,X1,Y0,Y1"),
        (["--memory", "10kB"], fp.BudgetError, "or more"),
        (["--shifts", "nowhere.txt"], fp.FormatError, "no such file"),
        (["--device", "abacus"], fp.ArgumentError, "abacus"),
        (["--angles", "short.txt"], fp.FormatError, "lists 3 angles for 181"),
    ],
)
def test_bad_words_end_in_one_sentence_and_leave_nothing(data, tmp_path, words, error, word):
    (tmp_path / "short.txt").write_text("1\n2\n3\n")
    words = [str(tmp_path / w) if w.endswith(".txt") else w for w in words]
    target = tmp_path / "out" / "v.h5"
    target.parent.mkdir()
    with pytest.raises(error) as caught:
        run(data / "tomography" / TOOTH, "-o", target, "--json", *words)
    assert word in str(caught.value) and not list(target.parent.iterdir())


def test_existing_volumes_stay(data, tmp_path):
    target = tmp_path / "v.h5"
    target.write_text("mine")
    with pytest.raises(fp.FormatError, match="overwrite"):
        run(data / "tomography" / TOOTH, "-o", target)
    assert target.read_text() == "mine"
