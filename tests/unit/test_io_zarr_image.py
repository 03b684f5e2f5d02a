"""Images in Zarr: what its library writes is read, what is written its library reads, and filters go from one to the other."""

from __future__ import annotations

import os

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import ndimage

import footprint as fp
from footprint.api._blank import zeros_are_blank
from footprint.api._image import see
from footprint.cli.main import main
from footprint.io.frame_source import open_source
from footprint.io.zarr_frames import ZarrFrames
from tests.unit.cli_files import shell

zarr = pytest.importorskip("zarr", reason="needs Zarr's library, to write what is read")


def stored(path, values, **how):
    array = zarr.create_array(store=str(path), shape=values.shape, dtype=values.dtype, **how)
    array[:] = values
    return path


@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.parametrize("packing", [{}, {"compressors": None}])
@pytest.mark.parametrize(
    ("shape", "chunks"), [((37, 53), (16, 20)), ((1, 37, 53), (1, 37, 53)), ((1, 1, 1, 37, 53), (1, 1, 1, 8, 60))]
)
def test_arrays_of_the_library_are_images(tmp_path, rng, form, packing, shape, chunks):
    values = rng.standard_normal(shape).astype("f4")
    path = stored(tmp_path / "a.zarr", values, chunks=chunks, zarr_format=form, **packing)
    with fp.open_image(path) as image:
        assert image.shape == (37, 53) and image.dtype == np.float32 and image.header is None
        part = np.empty((9, 53), "f8")
        image.read(slice(12, 21), part)
        np.testing.assert_array_equal(part, values.reshape(37, 53)[12:21])
        np.testing.assert_array_equal(image.array(), values.reshape(37, 53))


@pytest.mark.parametrize("dtype", [">f4", ">u2", "i1", "f8", "bool"])
def test_numbers_of_other_orders(tmp_path, rng, dtype):
    values = (100 * rng.random((9, 7))).astype(dtype)
    with fp.open_image(stored(tmp_path / "a.zarr", values, chunks=(4, 4), zarr_format=2)) as image:
        np.testing.assert_array_equal(image.array(), values)


def test_shards_and_chunks_that_were_never_written(tmp_path, rng):
    array = zarr.create_array(
        store=str(tmp_path / "a.zarr"), shape=(40, 40), chunks=(5, 10), shards=(20, 20), dtype="f4", fill_value=7
    )
    array[:20, :20] = wanted = rng.random((20, 20), "f4")
    with fp.open_image(tmp_path / "a.zarr") as image:
        found = image.array()
    np.testing.assert_array_equal(found[:20, :20], wanted)
    assert np.all(found[20:] == 7) and np.all(found[:, 20:] == 7)


def test_a_plane_of_several_is_chosen(tmp_path, rng):
    values = rng.random((3, 6, 5), "f4")
    path = stored(tmp_path / "a.zarr", values, chunks=(2, 3, 5))
    with fp.open_image(path, plane=2) as image:
        np.testing.assert_array_equal(image.array(), values[2])
    with pytest.raises(fp.FormatError, match=r"cube of shape \(3, 6, 5\).*give plane=0 to 2"):
        fp.open_image(path)
    with open_source(path) as stack:
        assert stack.shape == (3, 6, 5)


def test_what_is_written_the_library_reads(tmp_path, rng):
    values = rng.random((41, 30)).astype("f4")
    with fp.create_image(tmp_path / "a.zarr", values.shape, attrs={"verb": "convolve"}) as writer:
        writer.write(slice(20, 41), values[20:])
        writer.write(slice(0, 20), values[:20])
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="r")
    np.testing.assert_array_equal(group["0"][0], values)
    assert group.attrs["footprint"]["verb"] == "convolve" and group.attrs["multiscales"][0]["datasets"][0]["path"] == "0"


def test_only_our_own_folder_is_replaced(tmp_path, rng):
    other = stored(tmp_path / "other.zarr", rng.random((4, 5)), chunks=(4, 5))
    with pytest.raises(fp.FormatError, match="is a folder that no earlier run wrote"):
        fp.create_image(other, (4, 5), overwrite=True)
    for value in (1, 2):
        with fp.create_image(tmp_path / "ours.zarr", (4, 5), overwrite=True) as writer:
            writer.write(slice(0, 4), np.full((4, 5), value, "f4"))
    with fp.open_image(tmp_path / "ours.zarr") as image:
        assert np.all(image.array() == 2)
    with pytest.raises(fp.FormatError, match="already exists"):
        fp.create_image(tmp_path / "ours.zarr", (4, 5))
    assert sorted(os.listdir(tmp_path)) == ["other.zarr", "ours.zarr"]


@pytest.mark.parametrize("packing", [{}, {"compressors": None}])
def test_filters_go_from_zarr_to_zarr_at_the_least_budget(tmp_path, rng, packing):
    values = rng.standard_normal((300, 200)).astype("f4")
    source = stored(tmp_path / "a.zarr", values, chunks=(64, 50), **packing)
    words = [
        "convolve",
        str(source),
        "box:5",
        "--boundary",
        "reflect",
        "--device",
        "cpu",
        "-o",
        str(tmp_path / "b.zarr"),
        "--memory",
    ]
    refused = CliRunner().invoke(main, [*words, "1B"]).exception
    assert isinstance(refused, fp.BudgetError) and os.listdir(tmp_path) == ["a.zarr"]
    shell([*words, str(refused.smallest)])
    with fp.open_image(tmp_path / "b.zarr") as image:
        np.testing.assert_allclose(image.array(), ndimage.uniform_filter(values.astype("f8"), 5), atol=2e-6)


def test_a_stack_is_filtered_frame_by_frame(tmp_path, rng):
    values = rng.random((3, 20, 25), "f4")
    source, target = stored(tmp_path / "a.zarr", values, chunks=(1, 20, 25)), tmp_path / "b.zarr"
    shell(["filter", "median", str(source), "--size", "3", "-o", str(target), "--device", "cpu"])
    found = zarr.open_group(str(target), mode="r")["0"][:]
    np.testing.assert_array_equal(found, [ndimage.median_filter(one, 3) for one in values])


def test_a_group_without_an_image_is_one_sentence(tmp_path):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("data", shape=(4, 4), dtype="f4")
    words = ["box:3", "-o", str(tmp_path / "b.npy"), "--device", "cpu"]
    refused = CliRunner().invoke(main, ["convolve", str(tmp_path / "a.zarr"), *words]).exception
    assert isinstance(refused, fp.FormatError) and "is a Zarr group without an image" in str(refused)
    for name in (f"{tmp_path}/a.zarr/data", f"{tmp_path}/a.zarr/data/", f"{tmp_path}/a.zarr:/data"):
        shell(["convolve", name, *words, "--overwrite"])
    refused = CliRunner().invoke(main, ["convolve", f"{tmp_path}/a.zarr:/other", *words, "--overwrite"]).exception
    assert isinstance(refused, fp.FormatError) and "holds no array /other" in str(refused)


def test_a_codec_that_the_library_refuses_is_one_sentence(tmp_path, rng):
    """Its TypeError about a setting that no codec has came through."""
    stored(tmp_path / "a.zarr", rng.random((20, 30)), zarr_format=2)
    about = (tmp_path / "a.zarr" / ".zarray").read_text()
    assert '"level"' in about
    (tmp_path / "a.zarr" / ".zarray").write_text(about.replace('"level"', '"depth"'))
    with pytest.raises(fp.FormatError, match=r"its description cannot be read .*depth"):
        fp.open_image(tmp_path / "a.zarr")


def test_a_label_image_in_zarr_is_no_folder_of_them(tmp_path, rng):
    values = rng.standard_normal((40, 50)).astype("f4")
    values[10:13, 20:22] += 50
    np.save(tmp_path / "a.npy", values)
    words = ["sources", f"{tmp_path}/a.npy", "-o", f"{tmp_path}/a.ecsv", "--segmentation", f"{tmp_path}/labels.zarr", "--overwrite"]
    for _ in range(2):
        shell([*words, "--device", "cpu"])
        with fp.open_image(tmp_path / "labels.zarr") as labels:
            assert labels.dtype == np.int32 and np.count_nonzero(labels.array()) == 6
    assert sorted(os.listdir(tmp_path / "labels.zarr")) == [".zattrs", ".zgroup", "0"]


@pytest.mark.filterwarnings("ignore:.*no (flats|darks|angles)")
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_projections_in_zarr_are_reconstructed_as_others_are(tmp_path, rng, compressors):
    frames = rng.integers(20000, 40000, (30, 6, 16), "u2")
    path = stored(tmp_path / "a.zarr", frames, chunks=(8, 6, 16), compressors=compressors)
    options = {"center": 7.5, "device": "cpu"}
    with fp.open_scan(frames) as scan:
        wanted = fp.reconstruct(scan, **options)
    with fp.open_scan(path) as scan:
        np.testing.assert_array_equal(fp.reconstruct(scan, **options), wanted)
        with pytest.raises(fp.BudgetError) as error:
            fp.reconstruct(scan, memory=1000, **options)
        least = fp.reconstruct(scan, memory=error.value.smallest, **options)
    np.testing.assert_allclose(least, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("form", [2, 3])
def test_rows_of_one_chunk_are_decoded_once(tmp_path, rng, monkeypatch, form):
    """The look for blank zeros reads 16 rows one by one, each of which decoded the chunk."""
    pixels = rng.random((160, 90), np.float32)
    stored(tmp_path / "a.zarr", pixels, chunks=(160, 90), zarr_format=form)
    decoded, whole = [], ZarrFrames._whole
    monkeypatch.setattr(ZarrFrames, "_whole", lambda self, *where: decoded.append(where) or whole(self, *where))
    with fp.open_image(tmp_path / "a.zarr") as image:
        assert not zeros_are_blank(see(image))
        assert len(decoded) == 1
        np.testing.assert_array_equal(image.array(), pixels)
