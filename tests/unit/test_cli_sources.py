"""``footprint sources`` on images written here: outputs, reports, and one sentence for each mistake with nothing left behind."""

import json

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table
from scipy import ndimage

import footprint as fp
from footprint.cli.main import entry
from footprint.cli.render import Reporter


@pytest.fixture
def image(tmp_path):
    rng = np.random.default_rng(3)
    data = rng.standard_normal((2, 120, 130)).astype(">f4")
    data[:, 30:34, 40:43] += 60
    data[:, 100:102, 10:15] += 40
    data[:, 60:70, 60:90] = np.nan
    header = fits.Header({"BUNIT": "Jy/beam", "BMAJ": 0.01, "BMIN": 0.01, "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN"})
    header.update({"CRPIX1": 65, "CRPIX2": 60, "CRVAL1": 10.0, "CRVAL2": -30.0, "CDELT1": -0.002, "CDELT2": 0.002})
    path = tmp_path / "field.fits"
    fits.writeto(path, data[None, :1], header)
    fits.writeto(tmp_path / "cube.fits", data, header)
    return path


APERTURES = ("--apertures", "3,1 beam", "--annulus", "9,12", "--kron")


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["footprint", "sources", *map(str, words)])
    with pytest.raises(SystemExit) as exit_:
        entry()
    return exit_.value.code, capsys.readouterr()


@pytest.mark.parametrize("suffix", ["ecsv", "fits", "vot", "csv", "reg"])
def test_catalogues(monkeypatch, capsys, image, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    code, printed = run(monkeypatch, capsys, image, "-o", out, "--sigma", 8, "--json")
    report = json.loads(printed.out)
    assert code == 0 and report["sources"] == 2 and report["shape"] == [120, 130]
    assert {"noise", "background", "threshold", "plan_total", "measured_peak", "seconds", "beam_area"} <= set(report)
    if suffix == "reg":
        assert out.read_text().count("circle(") == 2
    else:
        table = Table.read(out)
        assert len(table) == 2 and abs(table["x"][0] - 41) < 0.1 and abs(table["y"][0] - 31.5) < 0.1
        assert suffix in ("vot", "csv") or (table.meta["image"], table.meta["sigma"]) == (str(image), 8.0)


@pytest.mark.parametrize("dtype", ["i1", "u2"])
def test_counts_of_a_camera(monkeypatch, capsys, tmp_path, dtype):
    """Whole numbers, bytes with a sign too: the image that kernels are loaded with is noise in every dtype."""
    counts = np.random.default_rng(4).normal(50, 5, (50, 60)).round().astype(dtype)
    counts[20:22, 30:33] = 120
    np.save(tmp_path / "counts.npy", counts)
    code, printed = run(monkeypatch, capsys, tmp_path / "counts.npy", "-o", tmp_path / "out.csv", "--json")
    assert code == 0 and json.loads(printed.out)["sources"] == 1, printed.err


def test_deblending(monkeypatch, capsys, image, tmp_path):
    data = fits.getdata(image)
    data[0, 0, 36:40, 40:43] += 50
    data[0, 0, 34:36, 40:43] += 20
    header = fits.getheader(image)
    fits.writeto(image, data, header, overwrite=True)
    out = tmp_path / "out.vot"
    words = (image, "-o", out, "--sigma", 8, "--flood", 4, "--segmentation", tmp_path / "s.npy")
    code, printed = run(monkeypatch, capsys, *words, "--deblend", "--contrast", 0.1, "--fit", "point", "--json", *APERTURES)
    report = json.loads(printed.out)
    assert code == 0 and report["sources"] == 3 and report["contrast"] == 0.1
    table = Table.read(out)
    assert list(table["island"]) == [1, 1, 2] and list(table["component"]) == [1, 2, 1] and list(table["flags"]) == [1, 1, 0]
    assert report["fit"] == "point" and table["fit_flux"].unit == "Jy" and {"fit_ra", "fit_peak_err"} <= set(table.colnames)
    assert np.load(tmp_path / "s.npy").max() == 3
    assert report["apertures"] == "3, 5" and report["kron"] == 2.5 and table["aper2_flux"].unit == "Jy"
    assert table["aper1_flux"].info.meta["ucd"] == "phot.flux.density"
    assert list(table["kron_flags"]) == [0, 0, 8]
    kept = ("--residual", "--save-model", tmp_path / "m.npy", "--save-residual", tmp_path / "r.fits", "--reliability", 0.5)
    code, printed = run(monkeypatch, capsys, *words, "--deblend", "--fit", "gaussian", *kept, "--overwrite", "--json")
    report = json.loads(printed.out)
    assert code == 0 and report["reliability"] == 0.5 and report["sigma"] >= 4 and report["negatives"] == 0
    rest, model = fits.getdata(tmp_path / "r.fits"), np.load(tmp_path / "m.npy")
    assert np.allclose(rest, data[0, 0] - model, atol=1e-4, equal_nan=True) and model.max() > 30
    assert "deconv_a" in Table.read(out).colnames
    found = (*words, "--deblend", "--fit", "gaussian", "--residual", "--pairs", "--overwrite", "--json")
    code, printed = run(monkeypatch, capsys, *found)
    assert code == 0 and "pairs" in json.loads(printed.out)
    code, printed = run(monkeypatch, capsys, image, "--deblend", "--residual")
    assert code == 2 and "--residual: got no fits, wanted fits to subtract from the image; give --fit" in printed.err
    code, printed = run(monkeypatch, capsys, *words, "--overwrite", "--json")
    assert code == 0 and json.loads(printed.out)["sources"] == 2
    code, printed = run(monkeypatch, capsys, image, "--deblend", "--contrast", 3)
    assert code == 2 and "contrast: got 3.0, wanted a number from 0 to 1" in printed.err and "Traceback" not in printed.err


def test_all_outputs_and_words(monkeypatch, capsys, image, tmp_path):
    outputs = ("-o", tmp_path / "a.ecsv", "--png", tmp_path / "a.png", "--segmentation", tmp_path / "s.npy")
    code, printed = run(monkeypatch, capsys, tmp_path / "cube.fits", "--plane", 1, *outputs, "--sigma", 8)
    assert code == 0 and printed.out == "" and "2 sources" in printed.err
    labels = np.load(tmp_path / "s.npy")
    assert labels.max() == 2 and (labels == 1).sum() == 12
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    code, printed = run(monkeypatch, capsys, image, "--sigma", 1)
    assert code == 0 and "more; -o FILE writes all" in printed.out and printed.out.splitlines()[3].split()[0].isdigit()
    code, printed = run(monkeypatch, capsys, image, "--quiet")
    assert code == 0 and printed.out == printed.err == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.fits"], "missing.fits"),
        (["cube.fits"], "plane"),
        (["cube.fits", "--plane", "7"], "plane"),
        (["field.fits", "-o", "out.docx"], "out.docx"),
        (["field.fits", "-o", "taken.ecsv"], "taken.ecsv"),
        (["field.fits", "-o", "nowhere/out.ecsv"], "nowhere"),
        (["field.fits", "--segmentation", "taken.fits"], "taken.fits"),
        (["field.fits", "--png", "taken.png"], "taken.png"),
        (["field.fits", "--negatives", "taken.ecsv"], "taken.ecsv"),
        (["field.fits", "--memory", "9kB"], "needs at least"),
        (["field.fits", "--memory", "lots"], "memory"),
        (["field.fits", "--sigma", "-1"], "sigma"),
        (["field.fits", "--connectivity", "6"], "connectivity"),
        (["field.fits", "--device", "abacus"], "abacus"),
        (["short.fits"], "short.fits"),
        (["void.fits"], "finite"),
        (["field.fits", "--sigma", "0.1", "--capacity", "3"], "capacity"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_one_sentence_and_nothing_left(monkeypatch, capsys, image, tmp_path, words, sentence):
    for name in ("taken.ecsv", "taken.fits", "taken.png"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "short.fits").write_bytes(image.read_bytes()[:20000])
    fits.writeto(tmp_path / "void.fits", np.full((20, 20), np.nan, np.float32))
    if "--segmentation" not in words:
        words = [*words, "--segmentation", "s.fits"]
    before = sorted(p.name for p in tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    code, printed = run(monkeypatch, capsys, *words)
    lines = [line for line in printed.err.splitlines() if line.startswith("footprint: ")]
    assert code == 2 and len(lines) == 1 and sentence in lines[0], printed.err
    assert "Traceback" not in printed.err
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (tmp_path / "taken.ecsv").read_text() == "precious"


def test_a_label_image_has_no_unit_and_no_beam(monkeypatch, capsys, image, tmp_path):
    assert run(monkeypatch, capsys, image, "--segmentation", tmp_path / "s.fits")[0] == 0
    header = fits.getheader(tmp_path / "s.fits")
    assert header["CTYPE1"] == "RA---SIN" and not {"BUNIT", "BMAJ", "BMIN", "BPA"} & set(header)


def test_several_images_in_one_call(monkeypatch, capsys, image, tmp_path):
    fits.writeto(tmp_path / "other.fits", fits.getdata(image)[0, 0] * 2, fits.getheader(image))
    (tmp_path / "bad.fits").write_bytes(image.read_bytes()[:20000])
    outputs = ("-o", f"{tmp_path}/out/", "--segmentation", f"{tmp_path}/out/", "--format", "vot", "--sigma", 8)
    code, printed = run(monkeypatch, capsys, image, tmp_path / "other.fits", *outputs)
    assert code == 0 and "other.fits: 2 sources" in printed.err and "sources  4" in printed.err
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["field.fits", "field.vot", "other.fits", "other.vot"]
    a, b = (Table.read(tmp_path / "out" / f"{name}.vot") for name in ("field", "other"))
    assert np.allclose(2 * a["flux"], b["flux"]) and np.array_equal(a["npix"], b["npix"])
    # One that fails costs no other, and is told by the exit code; what the next compiles is none of its own memory and time.
    warmed = []
    monkeypatch.setattr(Reporter, "warm", lambda self, job: warmed.append(job()))
    code, printed = run(monkeypatch, capsys, tmp_path / "bad.fits", image, *outputs, "--overwrite", "--json")
    report = json.loads(printed.out)
    assert code == 2 and report["failed"] == 1 and report["images"] == 1 and report["results"][0]["sources"] == 2
    assert "bad.fits" in printed.err and "Traceback" not in printed.err and len(warmed) == 1
    for words in ((image, tmp_path / "other.fits"), (image, image, "-o", f"{tmp_path}/out/"), (image, image, "-o", "one.ecsv")):
        code, printed = run(monkeypatch, capsys, *words)
        assert code == 2 and "--out" in printed.err


def test_one_image_into_a_folder(monkeypatch, capsys, image, tmp_path):
    (tmp_path / "here").mkdir()
    assert run(monkeypatch, capsys, image, "-o", tmp_path / "here")[0] == 0
    assert run(monkeypatch, capsys, image, "-o", f"{tmp_path}/new/one/")[0] == 0 and (tmp_path / "new/one/field.ecsv").exists()
    assert len(Table.read(tmp_path / "here" / "field.ecsv")) == 2
    # A file says by its name what it is.
    code, printed = run(monkeypatch, capsys, image, "-o", tmp_path / "one.fits", "--format", "vot")
    assert code == 2 and "wanted a folder, as a file's name says its format" in printed.err and not (tmp_path / "one.fits").exists()
    # What no file is called is told by the option that asked for it, before there is a folder for it.
    code, printed = run(monkeypatch, capsys, image, "-o", f"{tmp_path}/other/", "--format", "foo")
    assert code == 2 and "--format: got foo, wanted one of ecsv, fits," in printed.err and not (tmp_path / "other").exists()


def test_all_planes_of_a_cube(monkeypatch, capsys, image, tmp_path):
    cube = tmp_path / "cube.fits"
    with fits.open(cube, "update") as hdus:
        hdus[0].data[:, 50:52, 20:23] = -30
    words = ("--plane", "all", "--sigma", 8, "-o", tmp_path / "c.ecsv", "--segmentation", tmp_path / "s.fits", "--json")
    through = ("--matched-filter", "beam", "--windowed")
    words += ("--negatives", tmp_path / "n.ecsv", *through)
    code, printed = run(monkeypatch, capsys, cube, *words)
    table, report = Table.read(tmp_path / "c.ecsv"), json.loads(printed.out)
    assert code == 0 and report["shape"] == [2, 120, 130] and report["sources"] == 4
    below = Table.read(tmp_path / "n.ecsv")
    assert below["plane"].tolist() == [0, 1] and np.all(below["peak"] < -25)
    assert set(below.colnames) == {name for name in table.colnames if "_win" not in name} < set(table.colnames)
    assert report["negatives_catalogue"] == str(tmp_path / "n.ecsv")
    labels = fits.getdata(tmp_path / "s.fits")
    for plane in range(2):
        assert run(monkeypatch, capsys, cube, "--plane", plane, "--sigma", 8, "-o", tmp_path / f"{plane}.ecsv", *through)[0] == 0
        one, rows = Table.read(tmp_path / f"{plane}.ecsv"), table[table["plane"] == plane]
        assert all(np.array_equal(one[name], rows[name]) for name in one.colnames)
        assert np.all(rows["noise"] == one.meta["noise"]) and labels[plane].max() == len(one) == 2
    code, printed = run(monkeypatch, capsys, cube, "--plane", "all", "--png", tmp_path / "c.png")
    assert code == 2 and "--png" in printed.err
    assert run(monkeypatch, capsys, cube, "--plane", "some")[0] == 2


def test_planes_without_data_or_noise_cost_no_others(monkeypatch, capsys, image, tmp_path):
    cube = tmp_path / "cube.fits"
    data, header = fits.getdata(cube, header=True)
    flagged = np.stack([np.full_like(data[0], np.nan), data[0], np.zeros_like(data[0]), data[1]])
    fits.writeto(cube, flagged, header, overwrite=True)
    out, labels = tmp_path / "c.ecsv", tmp_path / "s.fits"
    words = ("--plane", "all", "--sigma", 8, "-o", out, "--segmentation", labels, "--overwrite")
    code, printed = run(monkeypatch, capsys, cube, *words)
    assert code == 0 and set(Table.read(out)["plane"]) == {1, 3}, printed.err
    assert "plane 0 holds" in printed.err and "plane 2 has neither noise nor sources" in printed.err
    assert [plane.any() for plane in fits.getdata(labels)] == [False, True, False, True]
    code, printed = run(monkeypatch, capsys, cube, "--plane", "all", "--at", out, "-o", tmp_path / "at.ecsv")
    assert code == 0 and set(Table.read(tmp_path / "at.ecsv")["plane"]) >= {1, 3}, printed.err
    code, printed = run(monkeypatch, capsys, cube, "--plane", 1, "--at", out)
    assert code == 0 and "fit_peak" in printed.out, printed.err
    flagged[:] = np.nan
    fits.writeto(cube, flagged, header, overwrite=True)
    code, printed = run(monkeypatch, capsys, cube, *words)
    assert code == 2 and "without a finite pixel" in printed.err


def test_maxiters_masks_and_blanks(monkeypatch, capsys, image, tmp_path):
    def noise(*words):
        code, printed = run(monkeypatch, capsys, *words, "--json")
        assert code == 0, printed.err
        return json.loads(printed.out), printed.err

    assert noise(image, "--maxiters", 0)[0]["clip_iterations"] == 0
    half, mask = fits.getdata(image)[0, 0].copy(), np.zeros((120, 130), np.uint8)
    half[:, 91:], mask[:, 91:] = 0, 1
    fits.writeto(tmp_path / "half.fits", half)
    np.save(tmp_path / "mask.npy", mask)
    auto, told = noise(tmp_path / "half.fits")
    assert "zeros mean no data" in told and "--blank" in told and auto["blanks"] == "zero"
    assert noise(tmp_path / "half.fits", "--mask", tmp_path / "mask.npy")[0]["noise"] == auto["noise"]
    np.save(tmp_path / "weight.npy", 1.0 - mask)
    assert noise(tmp_path / "half.fits", "--weight", tmp_path / "weight.npy")[0]["noise"] == auto["noise"]
    assert noise(tmp_path / "half.fits", "--blank", "nan")[0]["noise"] < 0.9 * auto["noise"]
    plan = ["footprint", "plan", "sources", str(tmp_path / "half.fits"), "--mask", str(tmp_path / "mask.npy"), "--json"]
    monkeypatch.setattr("sys.argv", plan)
    with pytest.raises(SystemExit):
        entry()
    planned = json.loads(capsys.readouterr().out)["plan_total"]
    assert planned == noise(tmp_path / "half.fits", "--mask", tmp_path / "mask.npy")[0]["plan_total"]


def test_a_mesh_and_maps(monkeypatch, capsys, image, tmp_path):
    """What a mesh writes is what a search over maps reads; the plan of either is the run's."""
    level, noise, one, two = (tmp_path / name for name in ("level.fits", "noise.fits", "one.ecsv", "two.fits"))
    mesh = ["--background", "mesh", "--box", "20", "--filter-size", "5", "--save-background", level, "--save-noise", noise]
    options = [image, "--sigma", 8, "--memory", "700kB", "--json"]
    code, printed = run(monkeypatch, capsys, *options, *mesh, "-o", one, "--segmentation", tmp_path / "ids.fits")
    report, table = json.loads(printed.out), Table.read(one)
    assert code == 0 and len(table) == 2 and report["background_by"] == "mesh" and report["save_noise"] == str(noise)
    assert table.meta["box"] == 20 and table.meta["filter_size"] == 5 and "clip_std" not in table.meta
    header = fits.getheader(level)
    assert header["BUNIT"] == "Jy/beam" and "CRVAL1" in header and fits.getdata(noise).shape == (1, 1, 120, 130)
    there = fits.getdata(noise)[0, 0, table["y_peak"], table["x_peak"]]
    assert np.array_equal(table["noise"], there) and table["noise"].unit == "Jy/beam"
    maps = ["--background-map", level, "--noise-map", noise]
    code, printed = run(monkeypatch, capsys, *options, *maps, "-o", two)
    again = Table.read(two)
    assert code == 0 and all(np.array_equal(table[name], again[name]) for name in ("x", "flux", "snr", "background", "y_err"))
    for words, planned in ((mesh, report), (maps, json.loads(printed.out))):
        few = [*map(str, [*options, *words, *(["--segmentation", tmp_path / "ids.fits"] if words is mesh else [])])]
        monkeypatch.setattr("sys.argv", ["footprint", "plan", "sources", *few])
        with pytest.raises(SystemExit):
            entry()
        assert json.loads(capsys.readouterr().out)["plan_total"] == planned["plan_total"]


def test_a_mesh_of_every_plane(monkeypatch, capsys, image, tmp_path):
    cube, out = tmp_path / "cube.fits", f"{tmp_path}/found/"
    (tmp_path / "found").mkdir()
    code, printed = run(monkeypatch, capsys, cube, "--plane", "all", "--background", "mesh", "--save-noise", out, "-o", out)
    assert code == 0, printed.err
    table, noise = Table.read(tmp_path / "found" / "cube.ecsv"), fits.getdata(tmp_path / "found" / "cube_noise.fits")
    assert noise.shape == (2, 120, 130) and set(table["plane"]) == {0, 1}
    assert np.array_equal(table["noise"], noise[table["plane"], table["y_peak"], table["x_peak"]])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--background", "slope"], "background"),
        (
            ["--save-noise", "n.fits"],
            "--save-noise: got one background for the whole image, wanted a mesh; give --background mesh",
        ),
        (["--background", "mesh", "--box", "1"], "box"),
        (["--background", "mesh", "--background-map", "IMAGE"], "--background-map"),
        (["--background", "mesh", "--lesson"], "--lesson: got it together with --background mesh"),
        (["--background-map", "IMAGE", "--maxiters", "3"], "--maxiters: got it together with --background-map"),
        (["--noise-map", "none.fits"], "none.fits"),
        (["--background", "mesh", "--save-noise", "IMAGE"], "is read by this job"),
    ],
)
def test_maps_that_cannot_be(monkeypatch, capsys, image, words, sentence):
    code, printed = run(monkeypatch, capsys, image, *[str(image) if word == "IMAGE" else word for word in words])
    assert code == 2 and sentence in printed.err and printed.err.count("\n") == 1


def test_a_plan_reads_no_pixels(monkeypatch, capsys, image):
    monkeypatch.setattr("sys.argv", ["footprint", "plan", "sources", str(image), "--json", "--memory", "1MB"])
    monkeypatch.setattr("footprint.io.image.Image.read", None)
    with pytest.raises(SystemExit) as exit_:
        entry()
    report = json.loads(capsys.readouterr().out)
    assert not exit_.value.code and report["plan_total"] <= 10**6


def test_the_table_of_the_lesson(monkeypatch, capsys, image, tmp_path):
    """Its figures are SciPy's; another plane of a cube has its own, several images have none."""
    data = fits.getdata(tmp_path / "cube.fits")[1].astype(float)
    cube = (tmp_path / "cube.fits", "--plane", 1, "--lesson", "--sigma", 8, "--device", "cpu", "--quiet")
    code, printed = run(monkeypatch, capsys, *cube, "--json")
    told = json.loads(printed.out)["lesson"]
    values = data[np.isfinite(data)]
    assert code == 0 and told["before"]["pixels"] == values.size
    assert np.allclose([told["before"][n] for n in ("mean", "median", "std")], [values.mean(), np.median(values), values.std()])
    ids, count = ndimage.label(data > 8 * told["after"]["std"])
    assert told["islands"] == count == 2 and told["after"]["pixels"] < values.size
    assert np.allclose(told["highest"], sorted(ndimage.sum_labels(data, ids, [1, 2]))[::-1])
    steps = told["seconds"]["cpu"]
    assert list(steps) == ["sigma_clip", "threshold", "label", "measure"] and min(steps.values()) > 0
    assert told["speed_up"] == {"cpu": 1.0}
    code, printed = run(monkeypatch, capsys, *cube[:-1])
    assert code == 0 and "The lesson's table" in printed.out and "cpu: sigma_clip" in printed.out and "speed-up 1" in printed.out
    code, printed = run(monkeypatch, capsys, *cube, "--memory", "200kB")
    assert code == 0 and "lesson" not in printed.out
    code, printed = run(monkeypatch, capsys, *cube[:-1], "--memory", "200kB")
    assert code == 0 and "needs the whole image at once" in printed.err and "The lesson's table" not in printed.out


def test_other_images_and_known_places(monkeypatch, capsys, image, tmp_path):
    out, at, cube = tmp_path / "out.csv", tmp_path / "at.ecsv", tmp_path / "cube.fits"
    words = ("--fit", "point", "--measure-on", f"b={image}", "--measure-on", cube, "--json")
    code, printed = run(monkeypatch, capsys, image, "-o", out, "--sigma", 8, *words)
    assert code == 0, printed.err
    assert json.loads(printed.out)["sources"] == 2
    table = fp.read_catalog(out)
    assert table["flux_b"].unit == "Jy" and np.allclose(table["flux_b"], table["flux"]) and len(table) == 2
    assert {"peak_cube_0", "fit_flux_err_cube_1"} <= set(table.colnames) and np.allclose(table["peak_cube_0"], table["peak"])
    code, printed = run(monkeypatch, capsys, image, "--at", out, "-o", at, "--apertures", 3, "--json")
    assert code == 0, printed.err
    known = fp.read_catalog(at)
    assert np.allclose(known["x"], table["x"], atol=1e-6) and list(known["label"]) == [1, 2] and known["fit_flux"].unit == "Jy"
    assert np.all(known["fit_peak"] > 30) and {"aper1_flux", "snr", "ra"} <= set(known.colnames)
    for more, sentence in (
        (("--deblend", "--at", out), "--deblend: got True together with --at"),
        (("--segmentation", "s.npy", "--at", out), "--segmentation: got s.npy together with --at"),
        (("--at", tmp_path / "none.csv"), "none.csv"),
        (("--shapes", "catalogue"), "--shapes: got catalogue without --at"),
        (("--measure-on", image, "--measure-on", image), "--measure-on: got two images called field"),
    ):
        code, printed = run(monkeypatch, capsys, image, *more)
        assert code == 2 and sentence in printed.err and printed.err.count("\n") == 1, printed.err
