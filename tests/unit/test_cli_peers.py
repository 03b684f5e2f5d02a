"""Other programs' configurations and spellings: what they come to here, and that nothing of them is lost in silence."""

from __future__ import annotations

import tomllib
from configparser import ConfigParser

import h5py
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage.transform import rotate

import footprint as fp
from footprint.cli.config import _names
from footprint.cli.main import main
from footprint.cli.nabu import read_nabu
from footprint.cli.nabu_keys import KNOWN
from footprint.cli.peers import in_our_words
from footprint.io.phantom import write_scan
from tests.unit.cli_files import shell

SAMPLE = """
# A beamline's.
[dataset]
location = scan.nx
hdf5_entry =
binning = 1
binning_z = 1
projections_subsampling = 2
[preproc]
flatfield = 1
take_logarithm = True
log_min_clip = 1e-6
log_max_clip = 10.0
ccd_filter_enabled = 1
ccd_filter_threshold = 0.04
double_flatfield = 0
dff_sigma =
sino_rings_correction = vo
sino_rings_options = snr=2.5 ; la_size=31 ; sm_size=5 ; dim=1
[phase]
method = none
delta_beta = 100.0
unsharp_coeff = 2 ; not a comment of nabu's
unsharp_sigma = 0
[reconstruction]
method = FBP
rotation_axis_position = 24.25   # by eye
cor_options = side='center'
fbp_filter_type = hann
padding_type = edges
enable_halftomo = 0
clip_outer_circle = 1
centered_axis = 1
start_x = 2
end_x = 39
start_y = 0
end_y = 29
start_z = 1
end_z = 2
iterations = 200
vortex = 7
[output]
location = made
file_prefix = rec
file_format = hdf5
overwrite_results = 1
[resources]
gpus = 0
memory_per_node = 80%
[pipeline]
verbosity = info
[mystery]
empty =
"""


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return str(write_scan(tmp_path_factory.mktemp("peers") / "scan.nx", n_angles=40, n_z=4, n_x=48).path)


@pytest.fixture
def said(tmp_path, monkeypatch, scan):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    (tmp_path / "nabu.conf").write_text(SAMPLE.replace("scan.nx", scan))
    return shell


def volume(path):
    with h5py.File(path) as file:
        return file["entry/reconstruction/results/data"][()]


def test_what_nabu_does_without_being_told_is_listed(said, tmp_path):
    (tmp_path / "bare.conf").write_text("[dataset]\nlocation = a.nx\n[reconstruction]\nmethod = FBP\n")
    told = said("config --from bare.conf").stderr
    assert "  no [reconstruction] centered_axis  ->  centered-axis = true, as by default there\n" in told
    assert "no [preproc] flatfield  ->  flat-reduction" in told


def test_a_configuration_of_nabu_is_the_same_job(said, scan):
    words = "--every 2 --center 24.25 --rings all:snr=2.5,size=31,small=5 --filter hann --padding edge --full-acquisition --circle"
    words += " --flat-reduction median"
    said(f"reconstruct {scan} -o plain.h5 {words} --roi 2,40,0,30 --rows 1:3 --device cpu -q")
    told = said("reconstruct --config nabu.conf").stderr
    np.testing.assert_array_equal(volume("made/rec.h5"), volume("plain.h5"))
    assert "[reconstruction] rotation_axis_position = 24.25  ->  center = 24.25" in told
    assert told.index("not translated:") < told.index("[reconstruction] vortex = 7: is not a known key")
    brief = said("reconstruct --config nabu.conf --quiet -o again.h5").stderr
    assert brief.startswith("footprint: warning: nabu.conf: not translated: ") and "vortex = 7" in brief and "->" not in brief


def test_it_is_written_as_toml_that_says_the_same(said, scan):
    told = said("config --from nabu.conf -o scan.toml").stderr
    text = open("scan.toml").read()
    table = tomllib.loads(text)["reconstruct"]
    assert table == read_nabu("nabu.conf").table
    assert table["roi"] == [2, 40, 0, 30] and table["rings"] == {"method": "all", "snr": 2.5, "size": 31, "small": 5}
    for left in (
        "[preproc] ccd_filter_enabled = 1",
        "[reconstruction] centered_axis = 1",
        "[pipeline] verbosity = info",
        "[mystery] empty",
    ):
        assert f"  {left}" in told and f"\n# {left}" in text
    said("reconstruct --config scan.toml -q -o first.h5")
    said("reconstruct --config nabu.conf -q -o second.h5")
    np.testing.assert_array_equal(volume("first.h5"), volume("second.h5"))


def test_every_line_is_told_once_and_every_option_is_ours(said):
    found = read_nabu("nabu.conf")
    options = {name for param in main.get_command(None, "reconstruct").params for name in _names(param)}
    assert set(found.table) <= options
    parser = ConfigParser(interpolation=None, inline_comment_prefixes=("#",))
    parser.read("nabu.conf")
    lines = [f"[{section}] {key} = {value}".rstrip() for section in parser.sections() for key, value in parser[section].items()]
    assert sorted(line for line, _ in found.done + found.left) == sorted(lines)
    with open("all.conf", "w") as file:
        for section in sorted({section for section, _ in KNOWN}):
            file.write(f"[{section}]\n" + "".join(f"{key} = strange\n" for of, key in sorted(KNOWN) if of == section))
    everything = read_nabu("all.conf")
    assert len(everything.done + everything.left) == len(KNOWN)
    # Words that mean nothing are left, but for names of files and entries.
    done = {line.split(" = ")[0] for line, _ in everything.done}
    files = {f"[dataset] {key}" for key in ("location", "hdf5_entry", "exclude_projections")}
    assert done == files | {"[reconstruction] angles_file"}


@pytest.mark.parametrize(
    ("lines", "option", "value"),
    [
        ("[preproc]\nflatfield=0\ntake_logarithm=0", "no-log", True),
        ("[preproc]\nflatfield=0", "no-log", None),
        ("[preproc]\nflatfield=1", "flat-reduction", "median"),
        ("[preproc]\nflatfield=pca", "flat-reduction", None),
        ("[preproc]\nsino_rings_correction=munch", "rings", {"method": "fw", "sigma": 1.0, "level": 10, "wavelet": "db15"}),
        ("[preproc]\nsino_rings_correction=munch\nsino_rings_options=wname=coif3", "rings", None),
        ("[preproc]\nsino_rings_correction=mean-division", "rings", {"method": "mean-division", "sigma": 30.0}),
        ("[preproc]\nsino_rings_correction=vsnr", "rings", None),
        ("[preproc]\nsino_normalization=chebyshev", "sino-normalization", "chebyshev"),
        (
            "[preproc]\nsino_normalization=division\nsino_normalization_file=/a/b.h5?path=/c/d",
            "sino-normalization",
            {"method": "division", "file": "/a/b.h5:/c/d"},
        ),
        ("[preproc]\nsino_normalization=subtraction", "sino-normalization", None),
        ("[preproc]\ndouble_flatfield=1\ndff_sigma=20", "rings", {"method": "mean", "sigma": 20.0}),
        ("[preproc]\ndouble_flatfield=1", "rings", None),
        ("[phase]\nmethod=Paganin\ndelta_beta=50\npadding_type=zeros", "phase", "50:padding=zeros"),
        ("[preproc]\ntilt_correction=-0.5\nautotilt_options=", "tilt", 0.5),
        ("[preproc]\nrotate_projections=2", "tilt", -2.0),
        ("[preproc]\ntilt_correction=fft-polar", "tilt", "auto"),
        ("[preproc]\ntilt_correction=1\nrotate_projections_center=(20, 30)", "tilt", None),
        ("[phase]\nmethod=CTF", "phase", None),
        ("[phase]\nmethod=paganin\ndelta_beta=auto\nmaterial_formula=SiO2\nmaterial_density=2.65", "phase", "SiO2:density=2.65"),
        ("[phase]\nmethod=paganin\ndelta_beta=auto", "phase", None),
        ("[reconstruction]\ncentered_axis=1", "centered-axis", True),
        ("[phase]\nunsharp_coeff=2\nunsharp_sigma=.8", "unsharp", "2:sigma=0.8"),
        ("[phase]\nunsharp_coeff=2\nunsharp_sigma=.8\nunsharp_method=log", "unsharp", None),
        ("[phase]\nunsharp_coeff=.6\nunsharp_sigma=.8\nunsharp_method=imagej", "unsharp", "1.5:sigma=0.8"),
        ("[reconstruction]\nfbp_filter_cutoff=.5\nfbp_filter_type=hann", "cutoff", None),
        ("[reconstruction]\nenable_halftomo=1", "half-acquisition", True),
        ("[reconstruction]\nrotation_axis_position=sliding-window", "center", "sliding-window"),
        ("[reconstruction]\nrotation_axis_position=global", "center", None),
        ("[reconstruction]\nmethod=mlem", "method", None),
        ("[reconstruction]\nstart_z=5", "rows", "5:"),
        ("[reconstruction]\nend_z=middle", "rows", None),
        ("[reconstruction]\nstart_z=middle\nend_z=middle", "rows", "middle"),
        ("[reconstruction]\nstart_x=5", "roi", None),
        ("[dataset]\nbinning=2\nbinning_z=2", "binning", 2),
        ("[dataset]\nbinning=2", "binning", None),
        ("[dataset]\nprojections_subsampling=2:1", "every", "2:1"),
        ("[dataset]\nprojections_subsampling=2:b", "every", None),
        ("[dataset]\nexclude_projections=bad frames.txt", "exclude-angles", "frames=bad frames.txt"),
        ("[dataset]\nexclude_projections = indices = bad.txt", "exclude-angles", "frames=bad.txt"),
        ("[dataset]\nexclude_projections=angles=bad.txt", "exclude-angles", "degrees=bad.txt"),
        ("[dataset]\nexclude_projections=angular_range=[40.5, 58]", "exclude-angles", "degrees=40.5:58"),
        ("[dataset]\nexclude_projections=kinds=b", "exclude-angles", None),
        ("[reconstruction]\nangle_offset=-90", "angle-offset", -90.0),
        ("[preproc]\nnormalize_srcurrent=0", "machine-current", False),
        ("[output]\nfile_prefix=a\nfile_format=tiff", "out", "a"),
        ("[output]\nfile_prefix=a\nfile_format=edf", "out", None),
        ("[output]\nfile_prefix=a\nfile_format=jp2", "image-format", "jp2"),
        ("[resources]\ngpu_id=0,2", "device", "cuda:0,cuda:2"),
        ("[resources]\nmemory_per_node=4", "memory", "4GB"),
        ("[resources]\nmemory_fraction=0.9", "memory", "90%"),
        ("[resources]\nmemory_fraction=9", "memory", None),
        ("[reconstruction]\nfbp_filter_type=None", "filter", "none"),
        ("[reconstruction]\nfbp_filter_type=", "filter", "none"),
        ("[reconstruction]\npadding_type=mirror", "padding", "reflect"),
        ("[phase]\nmethod=paganin\ndelta_beta=50\npadding_type=edges", "phase", "50"),
        ("[reconstruction]\nstart_z=first\nend_z=9", "rows", "0:10"),
        ("[reconstruction]\nstart_z=3\nend_z=last", "rows", "3:"),
        ("[resources]\nmemory_fraction=90%", "memory", "90%"),
    ],
)
def test_one_key(tmp_path, lines, option, value):
    (tmp_path / "n.conf").write_text(lines)
    found = read_nabu(str(tmp_path / "n.conf"))
    assert found.table.get(option) == value
    assert bool(found.left) == (value is None)


def test_its_tilt_is_ours_the_other_way(rng):
    """nabu turns every frame by skimage's function."""
    frame = gaussian_filter(rng.random((40, 50)), 3).astype("f4")
    want = rotate(frame, -3.0, order=1, mode="edge", preserve_range=True)
    np.testing.assert_allclose(fp.untilt(frame, 3.0, device="cpu")[2:-2, 2:-2], want[2:-2, 2:-2], atol=1e-5)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a = 1", "no section headers"), ("[other]\na = 1", "sections are dataset"), ("[dataset]\na\n[dataset]\n", "already")],
)
def test_what_is_no_configuration_is_one_sentence(said, tmp_path, text, wanted):
    (tmp_path / "bad.conf").write_text(text)
    refused = said("reconstruct --config bad.conf -o v.h5", code=1).exception
    assert isinstance(refused, fp.FormatError) and wanted in str(refused) and "\n" not in str(refused)
    assert "nabu has no job" in str(said("sources f.fits -o c.ecsv --config nabu.conf", code=1).exception)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("--rotation-axis 12.5", "--center 12.5"),
        ("--rotation-axis=12.5 a.nx", "--center 12.5 a.nx"),
        ("--rotation-axis-auto auto --rotation-axis-method vo", "--center vo"),
        ("--rotation-axis-auto manual --rotation-axis 3", "--center 3"),
        ("--remove-stripe-method none", ""),
        ("--remove-stripe-method fw", "--rings fw"),
        (
            "--remove-stripe-method fw --fw-sigma 2 --fw-level 5 --fw-filter db8 --vo-all-snr 9",
            "--rings fw:sigma=2,level=5,wavelet=db8",
        ),
        ("--vo-all-sm-size 5 --remove-stripe-method vo-all --vo-all-la-size 31", "--rings vo-all:size=31,small=5"),
        ("--slice 10-12", "--rows 10:13"),
        ("--slice 7 -q", "--rows 7:8 -q"),
        ("--slice all", ""),
        ("--slice middle", "--rows middle"),
        ("--start-row 3 --end-row -1", "--rows 3:"),
        ("--end-row 9", "--rows 0:9"),
        ("--flat-method median --dark-method mean", "--flat-reduction median --dark-reduction mean"),
        ("--delta-beta 100 --fbp-filter shepp", "--phase 100 --filter shepp-logan"),
        ("--center 5 -- --slice 3", "--center 5 -- --slice 3"),
    ],
)
def test_spellings(theirs, ours):
    assert in_our_words(theirs.split()) == ours.split()


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [
        ("--slice 10:12", "--slice: got '10:12'"),
        ("--slice", "--slice: got nothing"),
        ("--remove-stripe-method ti", "one of none, fw, vo-all"),
        ("--rotation-axis-method sift", "one of vo"),
    ],
)
def test_mistakes_in_them_are_one_sentence(theirs, wanted):
    with pytest.raises(fp.ArgumentError) as caught:
        in_our_words(theirs.split())
    assert wanted in str(caught.value)


def test_the_command_and_its_plan_take_them(said, scan):
    said(f"reconstruct {scan} -o theirs.h5 --rotation-axis 23.5 --remove-stripe-method vo-all --slice 1-2 -q --device cpu")
    said(f"reconstruct {scan} -o ours.h5 --center 23.5 --rings all --rows 1:3 -q --device cpu")
    np.testing.assert_array_equal(volume("theirs.h5"), volume("ours.h5"))
    assert said(f"plan reconstruct {scan} --slice 1-2 --json").stdout == said(f"plan reconstruct {scan} --rows 1:3 --json").stdout
    assert "--slice" not in said("reconstruct --help").stdout
