"""What a scan may come as: angles in either unit judged by their span, sinograms, .npy, names with ``*``, stacks of darks."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import pytest
import tifffile

import footprint as fp
from footprint.errors import FormatError
from tests.unit.io_files import frames, nxtomo

pytestmark = pytest.mark.filterwarnings("ignore:.* has no (flats|darks|angles):UserWarning")
KEY = [1, 2] + [0] * 24


def whole(scan):
    out = np.full(scan.shape, 77, scan.dtype)
    scan.read(slice(0, scan.n_z), out)
    return out


def opened(path, **options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with fp.open_scan(path, **options) as scan:
            return scan, " ".join(str(w.message) for w in said)


def test_degrees_far_from_zero_and_many_turns_are_angles(tmp_path):
    """7200 to 7558 degrees, where a stage had turned twenty times, were refused; so was a scan of forty turns."""
    far = np.linspace(7200, 7558, 26)
    nxtomo(tmp_path / "far.nx", KEY, angles=far)
    scan, said = opened(tmp_path / "far.nx")
    assert fp.plan_fbp((24, 5), scan.angles, device="cpu") and "radians" not in said
    nxtomo(tmp_path / "turns.nx", KEY, angles=np.linspace(0, 14400, 26))
    scan, _ = opened(tmp_path / "turns.nx")
    assert fp.plan_fbp((24, 5), scan.angles, device="cpu")
    np.testing.assert_allclose(np.exp(1j * scan.angles), np.exp(1j * np.deg2rad(np.linspace(0, 14400, 26)[2:])), atol=1e-9)
    with pytest.raises(fp.ArgumentError, match=r"7200 to 7558, 358 apart, wanted radians; convert degrees with numpy.deg2rad"):
        fp.plan_fbp((26, 5), far, device="cpu")


@pytest.mark.parametrize("last", [np.pi, 2 * np.pi])
@pytest.mark.parametrize("given", [False, True])
def test_radians_taken_for_degrees_are_said_aloud_and_the_unit_can_be_given(tmp_path, last, given):
    turned = np.linspace(0, last, 26)
    nxtomo(tmp_path / "a.nx", KEY, angles=turned, angle_unit="deg")
    np.savetxt(tmp_path / "a.txt", turned[2:])
    own = {"angles": str(tmp_path / "a.txt")} if given else {}
    scan, said = opened(tmp_path / "a.nx", **own)
    assert f"degrees only, from {turned[2]:.4g} to {last:.4g}: are they radians? Give angle_unit=rad" in said
    np.testing.assert_allclose(scan.angles, np.deg2rad(turned[2:]))
    scan, said = opened(tmp_path / "a.nx", angle_unit="rad", **own)
    np.testing.assert_allclose(scan.angles, turned[2:])
    assert "radians" not in said
    assert "radians" not in opened(tmp_path / "a.nx", angle_unit="deg", **own)[1]
    with pytest.raises(fp.ArgumentError, match="angle_unit: got 'grad', wanted one of deg, rad"):
        fp.open_scan(tmp_path / "a.nx", angle_unit="grad")


def test_degrees_that_a_file_calls_radians_are_refused_until_their_unit_is_given(tmp_path):
    turned = np.linspace(0, 180, 26)
    nxtomo(tmp_path / "a.nx", KEY, angles=turned, angle_unit="rad")
    with pytest.raises(FormatError, match=r"declared to be in radians but span 165.6.*give angle_unit=deg"):
        fp.open_scan(tmp_path / "a.nx")
    np.testing.assert_allclose(opened(tmp_path / "a.nx", angle_unit="deg")[0].angles, np.deg2rad(turned[2:]))
    nxtomo(tmp_path / "b.nx", KEY, angles=turned, angle_unit="gon")
    with pytest.raises(FormatError, match=r"has the unit 'gon'.*angle_unit=deg"):
        fp.open_scan(tmp_path / "b.nx")
    np.testing.assert_allclose(opened(tmp_path / "b.nx", angle_unit="deg")[0].angles, np.deg2rad(turned[2:]))


def test_a_shift_that_is_no_number_is_named():
    """It said "got shape (180,), wanted (180,)"."""
    shifts = np.zeros(180)
    shifts[[7, 9]] = np.nan
    for name in ("axis_shifts", "shifts"):
        with pytest.raises(fp.ArgumentError, match=rf"^{name}: got nan at projection 7 and 1 more, wanted finite pixels"):
            fp.plan_reconstruct((180, 4, 9), device="cpu", **{name: shifts})
        with pytest.raises(fp.ShapeError, match=rf"^{name}: got shape \(3,\), wanted \(180,\), one per projection"):
            fp.plan_reconstruct((180, 4, 9), device="cpu", **{name: np.zeros(3)})


@pytest.mark.parametrize("dtype", ["u2", ">f4"])
def test_npy_and_datasets_are_stacks_of_projections(tmp_path, dtype):
    data = frames(7).astype(dtype)
    np.save(tmp_path / "a.npy", data)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x/y"], file["x/z"] = data, data + 1
    for path in (tmp_path / "a.npy", f"{tmp_path}/a.h5:/x/y"):
        with fp.open_scan(path) as scan:
            np.testing.assert_array_equal(whole(scan), data)
            assert scan.n_angles == 7
    with pytest.raises(FormatError, match=r'name a stack as ".*a\.h5:/NAME"'):
        fp.open_scan(tmp_path / "a.h5")


@pytest.mark.parametrize("suffix", ["npy", "tif", "h5", "gzip.h5"])
def test_sinograms_are_read_as_projections(tmp_path, suffix):
    data = np.random.default_rng(1).random((5, 11, 6), np.float32)
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        np.save(path, data)
    elif suffix == "tif":
        tifffile.imwrite(path, data, photometric="minisblack")
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("s", data=data, **({"compression": "gzip", "chunks": (2, 3, 4)} if "gzip" in suffix else {}))
    with fp.open_scan(path, sinograms=True) as scan:
        assert scan.shape == (11, 5, 6)
        np.testing.assert_array_equal(whole(scan), data.swapaxes(0, 1))
        part = np.zeros((4, 2, 6))
        scan.read(slice(1, 3), part, slice(5, 9))
        np.testing.assert_array_equal(part, data[1:3, 5:9].swapaxes(0, 1))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_stack_of_a_few_darks_is_read_however_it_was_written(tmp_path, n, compression):
    """Three or four frames that were written without a word are planes of one page: "pixels of 4 samples"."""
    nxtomo(tmp_path / "a.nx", [1, 2, 0, 0])
    data = frames(n)
    tifffile.imwrite(tmp_path / "darks.tif", data, compression=compression)
    with fp.open_scan(tmp_path / "a.nx", darks=tmp_path / "darks.tif") as scan:
        np.testing.assert_array_equal(scan.darks(), data)
        np.testing.assert_array_equal(scan.darks(slice(1, 2)), data[:, 1:2])


def test_names_with_a_star_and_files_of_several_pages(tmp_path):
    nxtomo(tmp_path / "a.nx", [0, 0])
    data = frames(12)
    for i in range(12):
        tifffile.imwrite(tmp_path / f"flat_{i}.tif", data[i], photometric="minisblack")
    tifffile.imwrite(tmp_path / "dark_1.tif", data[:5], photometric="minisblack")
    tifffile.imwrite(tmp_path / "dark_2.tif", data[5:7], photometric="minisblack")
    given = {"flats": f"{tmp_path}/flat_*.tif", "darks": f"{tmp_path}/dark_?.tif"}
    with fp.open_scan(tmp_path / "a.nx", **given) as scan:
        np.testing.assert_array_equal(scan.flats(), data)
        np.testing.assert_array_equal(scan.darks(), data[:7])
        part = np.zeros((1, 2, 5))
        scan._parts.darks.frames.read(4, 5, slice(0, 2), part)
        np.testing.assert_array_equal(part, data[4:5, :2])
    with fp.open_scan(f"{tmp_path}/flat_1*.tif") as scan:
        np.testing.assert_array_equal(whole(scan), data[[1, 10, 11]])
    with pytest.raises(FormatError, match=r"none_\*\.tif: there is no such file"):
        fp.open_scan(f"{tmp_path}/none_*.tif")
    for name in ("a.nx::/entry/data", "a.nx:entry/data"):
        with pytest.raises(FormatError, match=r'no such file; a dataset is named ".*a\.nx:/NAME"'):
            fp.open_scan(f"{tmp_path}/{name}")
    with pytest.raises(FormatError, match="'': is not a name"):
        fp.open_scan("")


def test_hidden_files_of_a_folder_are_no_frames(tmp_path, rng):
    """A Mac leaves such beside every file on a disk that is not its own."""
    frames = rng.integers(1, 99, (3, 2, 5), np.uint16)
    for i, frame in enumerate(frames):
        tifffile.imwrite(tmp_path / f"frame_{i}.tif", frame)
        (tmp_path / f"._frame_{i}.tif").write_bytes(b"\0\5\x16\7")
    with fp.open_scan(tmp_path) as scan:
        np.testing.assert_array_equal(whole(scan), frames)


def test_direction_and_offset_of_angles(tmp_path, rng):
    """What turns the other way is mirrored, y becomes 2 c - y; an offset turns slices: by 90 degrees they are the same numbers."""
    np.save(tmp_path / "s.npy", rng.random((24, 1, 16), np.float32))
    angles = np.arange(24) * np.pi / 24
    how = {"center": 7.5, "log": False, "device": "cpu"}

    def made(**options):
        scan, _ = opened(tmp_path / "s.npy", angles=angles, **options)
        np.testing.assert_allclose(scan.angles[0], np.deg2rad(options.get("angle_offset", 0)))
        with fp.open_scan(tmp_path / "s.npy", angles=angles, **options) as scan:
            return fp.reconstruct(scan, **how)[0]

    whole = made()
    near = {"atol": 1e-5 * np.abs(whole).max()}
    np.testing.assert_allclose(made(direction="counterclockwise"), whole[::-1], **near)
    np.testing.assert_allclose(made(angle_offset=90.0), whole.T[::-1], **near)
    both = made(direction="counterclockwise", angle_offset=90.0)
    np.testing.assert_allclose(both, whole[::-1].T[::-1], **near)
    for wrong in ({"direction": "left"}, {"angle_offset": np.nan}):
        with pytest.raises(fp.ArgumentError, match=next(iter(wrong))):
            fp.open_scan(tmp_path / "s.npy", angles=angles, **wrong)


@pytest.mark.parametrize("dtype", ["u2", ">u2", "f4"])
def test_arrays_are_scans(tmp_path, dtype):
    """In memory, mapped from a file, and as h5py has them: the volume of the same scan in a file, whole and cut."""
    rng, angles = np.random.default_rng(3), np.linspace(0, np.pi, 24, endpoint=False)
    raw, flats, darks = (rng.integers(low, 2 * low, (n, 3, 5)).astype(dtype) for low, n in ((500, 24), (1000, 2), (50, 3)))
    for name, stack in (("a", raw), ("flats", flats[:1]), ("darks", darks)):
        np.save(tmp_path / f"{name}.npy", stack)
    with fp.open_scan(tmp_path / "a.npy", tmp_path / "flats.npy", tmp_path / "darks.npy", angles) as scan:
        want = fp.reconstruct(scan, center=2.2, device="cpu")
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    turned = raw.swapaxes(0, 1)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        stored = file.create_dataset("raw", data=raw)
        for given, options in ((raw, {}), (mapped, {}), (stored, {}), (turned, {"sinograms": True})):
            with fp.open_scan(given, flats[0], darks, angles, **options) as scan:
                assert repr(scan).startswith(f"<Scan the array of {'sino' if options else 'projec'}")
                got = fp.reconstruct(scan, center=2.2, device="cpu", memory=None if options else "120kB")
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_what_is_no_array_of_frames_is_refused():
    class OnDevice:
        shape, dtype, __cuda_array_interface__ = (3, 4, 5), np.dtype("u2"), {}

        def __getitem__(self, key):
            raise AssertionError("was read")

    frames, refusals = np.ones((3, 4, 5), np.uint16), {}
    for name, given in {"flat": frames[0], "none": frames[:0], "complex": frames + 1j, "list": [1], "device": OnDevice()}.items():
        with pytest.raises(fp.ArgumentError) as refused:
            fp.open_scan(given)
        refusals[name] = str(refused.value)
    assert "shape (4, 5), wanted (n_frames, n_z, n_x)" in refusals["flat"] and "none of them 0" in refusals["none"]
    assert "complex128, wanted real numbers" in refusals["complex"] and "got list, wanted the name of a file" in refusals["list"]
    assert "host's memory" in refusals["device"]
    with pytest.raises(FormatError, match="flats are 3 x 5, projections are 4 x 5"):
        fp.open_scan(frames, flats=frames[:, :3])
