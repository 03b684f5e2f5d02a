"""Zarr as other programs write it: sums after compression, images in groups of groups, and what is not read but not damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

import footprint as fp

zarr = pytest.importorskip("zarr", reason="needs Zarr's library, to write what is read")
numcodecs = pytest.importorskip("numcodecs")


def stored(path, values, **how):
    array = zarr.create_array(store=str(path), shape=values.shape, dtype=values.dtype, **how)
    array[:] = values
    return path


def _sums(packing):
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

    return [{"gzip": GzipCodec, "zstd": ZstdCodec, "blosc": BloscCodec}[packing](), Crc32cCodec()]


@pytest.mark.parametrize("packing", ["gzip", "zstd", "blosc"])
@pytest.mark.parametrize("shards", [None, (20, 40)])
def test_sums_after_compression_are_no_part_of_what_is_compressed(tmp_path, rng, packing, shards):
    values = rng.integers(0, 60000, (37, 53)).astype("u2")
    stored(tmp_path / "a.zarr", values, chunks=(10, 20), shards=shards, compressors=_sums(packing), zarr_format=3)
    with fp.open_image(tmp_path / "a.zarr") as image:
        np.testing.assert_array_equal(image.array(), values)


@pytest.mark.filterwarnings("ignore:.*crc32c usage")
@pytest.mark.parametrize("name", ["CRC32", "Adler32", "Fletcher32"])
def test_sums_of_zarr_2_stand_before_or_behind(tmp_path, rng, name):
    values = rng.integers(0, 60000, (37, 53)).astype("u2")
    how = {"filters": [numcodecs.GZip()], "compressors": getattr(numcodecs, name)()}
    stored(tmp_path / "a.zarr", values, chunks=(16, 20), zarr_format=2, **how)
    with fp.open_image(tmp_path / "a.zarr") as image:
        np.testing.assert_array_equal(image.array(), values)


def test_a_chunk_that_decodes_to_too_much_is_found_behind_a_sum(tmp_path, rng):
    import gzip

    stored(tmp_path / "a.zarr", np.ones((37, 53), "u2"), chunks=(37, 53), compressors=_sums("gzip"), zarr_format=3)
    (tmp_path / "a.zarr/c/0/0").write_bytes(gzip.compress(bytes(1 << 20)) + bytes(4))
    with fp.open_image(tmp_path / "a.zarr") as image, pytest.raises(fp.FormatError, match=r"decodes to more than the \d+ bytes"):
        image.array()


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ([{"id": "zlib", "level": 1}], "is compressed more than once, by zlib and gzip, which is not read; write it by one codec"),
        ([{"id": "packbits"}], "has the codec packbits, which is not read, only blosc, bz2"),
    ],
)
def test_what_is_not_read_is_not_said_to_be_damaged(tmp_path, filters, words):
    stored(tmp_path / "a.zarr", np.ones((9, 7), "u2"), chunks=(9, 7), compressors=numcodecs.GZip(), zarr_format=2)
    table = tmp_path / "a.zarr/.zarray"
    table.write_text(json.dumps(json.loads(table.read_text()) | {"filters": filters}))
    with pytest.raises(fp.FormatError) as caught:
        fp.open_image(tmp_path / "a.zarr")
    assert f"a.zarr: {words}" in str(caught.value) and "damaged" not in str(caught.value)


def _series(root, values, form):
    """As bioformats2raw writes them: a group of images, each a group of levels."""
    mark = {"bioformats2raw.layout": 3}
    group = zarr.open_group(str(root), mode="w", zarr_format=form)
    group.attrs.update(mark if form == 2 else {"ome": {"version": "0.5", **mark}})
    group.create_group("OME")
    for number, image in enumerate(values):
        one = group.create_group(str(number))
        one.create_array("full", shape=image.shape, chunks=(16, 20), dtype=image.dtype)[:] = image
        scales = {"multiscales": [{"version": "0.4", "axes": [{"name": n, "type": "space"} for n in "yx"]}]}
        scales["multiscales"][0]["datasets"] = [{"path": "full"}]
        one.attrs.update(scales if form == 2 else {"ome": scales})


@pytest.mark.parametrize("form", [2, 3])
def test_the_only_image_of_a_group_of_images_is_taken(tmp_path, rng, form):
    values = rng.integers(0, 60000, (2, 37, 53)).astype("u2")
    _series(tmp_path / "one.zarr", values[:1], form)
    with fp.open_image(tmp_path / "one.zarr") as image:
        np.testing.assert_array_equal(image.array(), values[0])
    _series(tmp_path / "two.zarr", values, form)
    with pytest.raises(fp.FormatError, match=r"two.zarr: holds 2 images .*, wanted one; give .*two.zarr/0 to .*two.zarr/1\.$"):
        fp.open_image(tmp_path / "two.zarr")
    for name in tmp_path / "two.zarr/1", f"{tmp_path}/two.zarr:/1":
        with fp.open_image(name) as image:
            np.testing.assert_array_equal(image.array(), values[1])
    _series(tmp_path / "none.zarr", [], form)
    with pytest.raises(fp.FormatError, match=r"none.zarr: holds 0 images"):
        fp.open_image(tmp_path / "none.zarr")


@pytest.mark.parametrize("form", [2, 3])
def test_a_group_of_groups_is_no_damaged_array(tmp_path, form):
    zarr.open_group(str(tmp_path / "a.zarr"), mode="w", zarr_format=form).create_group("0")
    with pytest.raises(fp.FormatError, match=r"is a Zarr group without an image") as caught:
        fp.open_image(tmp_path / "a.zarr")
    assert "damaged" not in str(caught.value)
