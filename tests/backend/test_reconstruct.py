"""The pipeline against its references step by step, whole and by blocks, on every device found."""

import warnings

import numpy as np
import pytest

import footprint as fp
from footprint.io.phantom import projections, volume
from footprint.reference.fbp import fbp
from footprint.reference.filters import fast_length, response
from footprint.reference.flatfield import flatfield, shift
from tests.scans import ArrayScan, raw_scan
from tests.ways import ways

CENTER = 20.3


def phantom(rng, n_angles=24, n_z=6, n_x=41, dtype="u2", uneven=False):
    angles = np.sort(rng.uniform(0, np.pi, n_angles)) if uneven else np.arange(n_angles) * np.pi / n_angles
    return raw_scan(projections(n_x, np.linspace(-0.4, 0.4, n_z), angles, CENTER) * 0.05, angles, rng, dtype)


def reference(scan, rows=slice(None), shifts=None, center=CENTER, roi=None, border=0, **options):
    n_z, n_x = scan.shape[1:]
    lower, upper, weight = scan.flat_weights()
    dark = np.zeros((n_z, n_x)) if scan.dark is None else np.asarray(scan.dark, "f4")
    flats = np.ones((1, n_z, n_x)) if scan.flats is None else np.asarray(scan.flats, "f4")
    sinograms = flatfield(scan.raw, flats, dark, lower, upper, weight, border)
    if shifts is not None:
        whole = np.floor(shifts).astype(int)
        sinograms = shift(sinograms, whole, shifts - whole, n_z, 0)
    gains = response(options.pop("filter", "ramlak"), fast_length(2 * n_x))
    roi = roi or (0, n_x, 0, n_x)
    return np.stack([fbp(s, scan.angles, gains, center, roi, **options) for s in sinograms[rows]])


def close(got, want, tolerance=2e-5):
    assert got.shape == want.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=tolerance * np.abs(want).max(), rtol=0)


@pytest.mark.parametrize("dtype", ["u2", "f4", "u1", "i4", "f8", "f2", ">u2"])
def test_dtypes(device, rng, dtype):
    scan = phantom(rng)
    if dtype == "u1":
        scan.raw, scan.flats, scan.dark = scan.raw // 150, scan.flats / 150, scan.dark / 150
    scan.raw = scan.raw.astype(dtype)
    scan.dtype = scan.raw.dtype
    close(fp.reconstruct(scan, center=CENTER, method="direct", device=device), reference(scan))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 3), (7, 5, 13), (3, 2, 64), (31, 1, 37)])
def test_shapes(device, rng, shape):
    flats = np.full((1, *shape[1:]), 50000.0)
    scan = ArrayScan(rng.integers(1000, 50000, shape).astype("u2"), np.arange(shape[0]) * np.pi / shape[0], flats)
    center = (shape[2] - 1) / 2
    close(fp.reconstruct(scan, center=center, method="direct", device=device), reference(scan, center=center))


@pytest.mark.parametrize(
    "options",
    [
        {"rows": slice(2, 4)}, {"rows": slice(-1, None)}, {"roi": (5, 30, -3, 17)}, {"filter": "hann", "padding": "edge"},
        {"axis_shifts": np.linspace(-2, 2, 24)}, {"center": 11.0},
    ],
    ids=str,
)  # fmt: skip
def test_options(device, rng, options):
    scan = phantom(rng, uneven=True)
    got = fp.reconstruct(scan, method="direct", device=device, **{"center": CENTER, **options})
    close(got, reference(scan, **options))
    if options.get("rows") == slice(2, 4):
        assert all(2 <= a < b <= 4 for a, b in scan.rows_read), "rows nobody asked for were read"


SHIFTS = np.concatenate([[0, 0.5, -0.5, 2.25, -3.75, 6, -6], np.linspace(-1, 1, 17)])


@pytest.mark.parametrize("rows", [slice(None), slice(0, 1), slice(5, 6), slice(2, 5)])
def test_every_angle_keeps_its_vertical_shift_whatever_the_chunk(device, rng, rows):
    scan = phantom(rng)
    want = reference(scan, rows, SHIFTS)
    settings = {"center": CENTER, "rows": rows, "shifts": SHIFTS, "method": "direct", "device": device}
    plans = []
    whole = fp.reconstruct(scan, on_plan=plans.append, **settings)
    close(whole, want)
    least = smallest(scan, settings)
    for memory in (max(plans[0].footprint.total - 1, least), least):
        close(fp.reconstruct(scan, memory=memory, **settings), want)


def smallest(scan, settings):
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, memory=1, **settings)
    return caught.value.smallest


def test_blocks_of_rows_and_groups_of_angles_give_the_same_bits(device, rng):
    scan = phantom(rng, n_angles=70, n_z=7)
    settings = {"center": CENTER, "method": "direct", "device": device}
    plans = []
    whole = fp.reconstruct(scan, on_plan=plans.append, **settings)
    assert plans[0].choices[0].size == 7
    sizes = set()
    for choice in plans[0].choices[1:]:
        part = fp.reconstruct(scan, memory=choice.nbytes, on_plan=plans.append, **settings)
        assert plans[-1].footprint.total <= choice.nbytes
        sizes.add(plans[-1].chunk.size if plans[-1].chunk else 7)
        np.testing.assert_array_equal(part, whole)
    # Less and less, until a row at a time is all that fits.
    small = plans[-1]
    while small.chunk is None or small.chunk.size > 1:
        small = fp.plan_reconstruct(scan, memory=small.footprint.total - 1, **settings)
    assert small.n_summed == 1 and len(sizes) > 1
    part = fp.reconstruct(scan, memory=small.footprint.total, on_plan=plans.append, **settings)
    assert plans[-1].chunk.size == 1
    np.testing.assert_array_equal(part, whole)
    least = smallest(scan, settings)
    assert least < plans[0].choices[-1].nbytes
    groups = fp.reconstruct(scan, memory=least, on_plan=plans.append, **settings)
    assert "angles at a time" in " ".join(plans[-1].notes)
    close(groups, whole, 1e-5)
    if device == "cpu":
        np.testing.assert_array_equal(groups, whole)


def test_groups_also_move_and_mask(device, rng):
    scan = phantom(rng, n_angles=24)
    settings = {"center": CENTER, "shifts": SHIFTS, "circle": True, "method": "direct", "device": device}
    whole = fp.reconstruct(scan, **settings)
    close(fp.reconstruct(scan, memory=smallest(scan, settings), **settings), whole, 1e-5)
    corner = whole[:, 0, 0]
    assert np.all(corner == 0) and np.all(whole[:, 20, 20] != 0)


WIDE = (-60, 100, -50, 100)


def in_tiles(plan):
    return any(cut.unit == "rows of a slice" for cut in plan.cuts)


class Writer:
    """Takes slices, or tiles of them, and keeps count."""

    def __init__(self, shape):
        self.volume, self.written, self.tiles = np.full(shape, np.nan, "f4"), np.zeros(shape[:2], int), 0

    def write(self, where, block):
        where = where if isinstance(where, tuple) else (where, slice(None))
        self.volume[where] = block
        self.written[where] += 1
        self.tiles += 1


@pytest.mark.parametrize(
    "options",
    [{}, {"circle": True, "shifts": SHIFTS, "roi": WIDE}, {"roi": WIDE}, {"rows": (2, 4)}, {"axis_shifts": SHIFTS}],
    ids=lambda o: ",".join(o) or "plain",
)
def test_a_slice_that_does_not_fit_is_made_in_tiles(device, rng, options):
    scan = phantom(rng, n_z=3 if "rows" not in options else 6)
    scan.dark = scan.dark if "shifts" not in options else None
    if "shifts" in options:
        options = options | {"shifts": SHIFTS / 3}
    settings = {"center": CENTER, "method": "direct", "device": device, **options}
    whole = fp.reconstruct(scan, **settings)
    groups = fp.plan_reconstruct(scan, written=True, **settings)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(scan, written=True, memory=1, **settings)
    least = caught.value.smallest
    assert least < groups.choices[-1].nbytes
    for memory in (least, least + 4 * 7 * whole.shape[2] + 256):
        plans, done, writer = [], [], Writer(whole.shape)
        fp.reconstruct(
            scan, out=writer, memory=memory, on_plan=plans.append, progress=lambda *n, done=done: done.append(n), **settings
        )
        assert in_tiles(plans[0]) and plans[0].footprint.total <= memory
        tiles = plans[0].n_parts // plans[0].n_summed
        assert (writer.written == 1).all() and writer.tiles == len(done) == tiles > whole.shape[0]
        assert done[-1] == (whole.shape[0],) * 2
        close(writer.volume, whole, 1e-5 * (2 if "roi" in options else 1))
        if options.get("circle"):
            y, x = np.mgrid[WIDE[2] : WIDE[3], WIDE[0] : WIDE[1]] - CENTER
            outside = y**2 + x**2 > 20.8**2
            assert np.all(writer.volume[:, outside] == 0) and np.any(writer.volume[:, ~outside] != 0)


@pytest.mark.parametrize("step", ["zingers", "phase", "unsharp", "normalization", "rings"])
def test_a_lone_row_is_made_in_tiles_after_steps_of_projections(device, rng, step):
    setting = {"zingers": 0.5, "unsharp": 2.0, "normalization": "chebyshev", "rings": "sorting"}
    setting["phase"] = {"delta_beta": 50, "energy": 20, "distance": 0.1, "pixel_size": 1e-6}
    scan = phantom(rng, n_angles=10, n_z=1)
    settings = {"center": CENTER, "roi": WIDE, "steps": fp.steps(**{step: setting[step]}), "device": device}
    whole, plans = fp.reconstruct(scan, **settings), []
    settings["out"] = np.zeros((*whole.shape, 2), "f8")[..., 0]
    tiles = fp.reconstruct(scan, memory=smallest(scan, settings), on_plan=plans.append, **settings)
    assert in_tiles(plans[0])
    close(tiles.astype("f4"), whole, 1e-5)


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f8"])
def test_tiles_go_into_arrays_that_kernels_cannot_write(device, rng, dtype):
    scan = phantom(rng, n_z=2)
    settings = {"center": CENTER, "method": "direct", "device": device}
    whole = fp.reconstruct(scan, **settings)
    out = np.zeros((*whole.shape, 2), dtype)[..., 0]
    plans = []
    with pytest.raises(fp.BudgetError) as caught:
        fp.reconstruct(scan, out=out, memory=1, **settings)
    fp.reconstruct(scan, out=out, memory=caught.value.smallest, on_plan=plans.append, **settings)
    assert in_tiles(plans[0])
    np.testing.assert_allclose(out, whole, rtol=0, atol=(1e-3 if dtype == "f2" else 1e-5) * np.abs(whole).max())


def test_fourier_and_direct_agree(rng, device):
    scan = phantom(rng, n_angles=120, n_z=2, n_x=96)
    options = {"center": 47.5, "circle": True, "device": device, "filter": "hann"}
    direct, fourier = (fp.reconstruct(scan, method=m, **options) for m in ("direct", "fourier"))
    assert np.sqrt(np.mean((direct - fourier) ** 2)) < 0.01 * np.ptp(direct)
    budgets = ways(lambda memory: fp.plan_reconstruct(scan, method="fourier", memory=memory, **options))
    # Groups of angles to rounding; tiles, each on a grid of its own, to less than the accuracy.
    # The least tiles, a row each, take seconds where every part waits for a queue, and are those of test_fourier.
    for way, which, tolerance in (("za", -1, 1e-5), ("zya", -1 if device == "cpu" else 0, 5e-5)):
        close(fp.reconstruct(scan, method="fourier", memory=budgets[way][which], **options), fourier, tolerance)


def test_the_heads_values_come_back(device, rng):
    angles = np.arange(300) * np.pi / 300
    heights = np.array([-0.2, 0.1])
    scan = raw_scan(projections(200, heights, angles, 98.7) * 0.01, angles, rng)
    plans = []
    got = fp.reconstruct(scan, memory="100MB", device=device, on_plan=plans.append)
    truth = volume(200, heights, 98.7) * 0.01
    y, x = np.mgrid[:200, :200] - 98.7
    inside = x**2 + y**2 < (0.46 * 200) ** 2
    difference = (got - truth)[:, inside]
    assert np.sqrt(np.mean(difference**2)) < 0.07 * np.ptp(truth) and abs(difference.mean()) < 5e-4 * np.ptp(truth)
    centimetres = fp.reconstruct(scan, rows=(0, 1), pixel_size=2e-4, method="direct", device=device, center=98.7)
    close(centimetres * 2e-4, fp.reconstruct(scan, rows=(0, 1), method="direct", device=device, center=98.7), 1e-5)


def test_without_flats(device, rng):
    scan = phantom(rng, n_x=64)
    lines = flatfield(scan.raw, np.asarray(scan.flats, "f4"), np.asarray(scan.dark, "f4"), *scan.flat_weights()).transpose(1, 0, 2)
    even = np.exp(-lines)
    options = {"center": CENTER, "method": "direct", "device": device}
    want = fp.reconstruct(scan, **options)
    corrected = ArrayScan(even.astype("f4"), scan.angles)
    close(fp.reconstruct(corrected, **options), want, 1e-4)
    close(fp.reconstruct(ArrayScan((even * 500).astype("f4"), scan.angles), i0=500, **options), want, 1e-4)
    dark = np.full(even.shape[1:], 100.0)
    counts = ArrayScan(np.round(even * 60000 + 100).astype("u2"), scan.angles, dark=dark)
    close(fp.reconstruct(counts, i0=60000, **options), want, 2e-3)
    close(fp.reconstruct(counts, **options), reference(counts, border=2))


def test_out_and_writer(device, rng):
    scan = phantom(rng)
    options = {"center": CENTER, "method": "direct", "device": device}
    want = fp.reconstruct(scan, **options)
    for out in (np.empty(want.shape, "f4"), np.empty(want.shape, ">f8"), np.empty((*want.shape, 2), "f4")[..., 0]):
        assert fp.reconstruct(scan, out=out, **options) is out
        np.testing.assert_array_equal(out, want)

    class Writer:
        pieces: list = []  # noqa: RUF012

        def write(self, where, block):
            self.pieces.append((where, block.copy()))

    done = []
    writer = Writer()
    plan = fp.plan_reconstruct(scan, written=True, center=CENTER, method="direct", device=device)
    less = plan.choices[-1].nbytes
    assert fp.reconstruct(scan, out=writer, memory=less, progress=lambda n, m: done.append((n, m)), **options) is writer
    assert done[-1] == (6, 6) and len(writer.pieces) == len(done) > 1
    np.testing.assert_array_equal(np.concatenate([block for _, block in writer.pieces]), want)


def test_the_plan_of_a_shape_is_the_plan_of_the_scan(rng):
    scan = phantom(rng)
    mine = fp.plan_reconstruct(scan, memory="1MB", device="cpu")
    theirs = fp.plan_reconstruct(scan.shape, scan.angles, n_flat_groups=2, memory="1MB", device="cpu")
    assert mine.footprint == theirs.footprint and mine.chunk == theirs.chunk
    big = fp.plan_reconstruct((1500, 2048, 2048), memory="2GB", written=True, device="null:h100")
    assert 0 < big.footprint.total <= 2e9 and big.chunk.size > 1
    options = {"memory": "2GB", "written": True, "device": "null:h100"}
    assert fp.estimate_max_chunk_size("reconstruct", (1500, 2048, 2048), **options) == big.chunk.size
    assert fp.estimate_required_memory("reconstruct", (100, 4, 64), device="null") > 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"center": 82.0}, "off either end"),
        ({"center": "left"}, "or a detector position"),
        ({"center": np.nan}, "got nan, wanted at most 41 pixels"),
        ({"rows": slice(6, 9)}, "at least one of the 6 rows"),
        ({"rows": "ab"}, "a slice or a pair"),
        ({"rows": slice(0, 6, 2)}, "without a step"),
        ({"filter": "sharp"}, "ramlak"),
        ({"padding": "none"}, "edge"),
        ({"method": "magic"}, "fourier"),
        ({"roi": (4, 4, 0, 2)}, "x0 < x1"),
        ({"pixel_size": 0}, "above 0"),
        ({"shifts": np.zeros(3)}, "one per projection"),
        ({"shifts": np.full(24, np.nan)}, "finite"),
        ({"shifts": np.full(24, 7.5)}, "at most the 6 rows"),
        ({"i0": "sky"}, "'border' or a number"),
        ({"i0": -1}, "above 0"),
        ({"device": "abacus"}, "cuda"),
        ({"memory": "1kB"}, "or more"),
        ({"out": np.empty((6, 41, 40), "f4")}, "(6, 41, 41)"),
    ],
)
def test_bad_input_is_one_clear_sentence(rng, change, word):
    call = {"center": CENTER, "device": "cpu"} | change
    with pytest.raises(fp.FootprintError) as caught, warnings.catch_warnings():
        fp.reconstruct(phantom(rng), **call)
    assert word in str(caught.value)


def test_flats_that_are_zero(rng):
    scan = phantom(rng)
    scan.flats = np.zeros_like(scan.flats)
    with pytest.raises(fp.FormatError, match="nowhere brighter than its darks"):
        fp.reconstruct(scan, center=CENTER, device="cpu")
    # one dead row is no reason to stop, in blocks of a row either
    scan = phantom(rng)
    scan.flats[:, 0] = 0
    settings = {"center": CENTER, "method": "direct", "device": "cpu"}
    volume = fp.reconstruct(scan, memory=smallest(scan, settings), **settings)
    assert np.isfinite(volume).all() and np.all(volume[0] == 0) and np.any(volume[1] != 0)
