"""The pipeline against NumPy and SciPy step by step, whole and by blocks."""

import mmap
import weakref

import numpy as np
import pytest

import footprint as fp
from footprint.reference.find_sources import find_sources as reference
from footprint.reference.measure import measure
from tests.backend.moments import same_covariance


def field(rng, shape=(300, 257), sources=60):
    """Correlated noise with Gaussian sources, some of them touching."""
    from scipy import ndimage

    image = ndimage.gaussian_filter(rng.standard_normal(shape), 1.5)
    image /= image.std()
    spots = np.zeros(shape)
    spots[rng.integers(0, shape[0], sources), rng.integers(0, shape[1], sources)] = rng.pareto(1.2, sources) * 300
    return (image + ndimage.gaussian_filter(spots, 2)).astype(np.float32)


def check(image, device, **options):
    labels = np.full(image.shape, -1, np.int32)
    table = fp.find_sources(image, labels=labels, device=device, **options)
    wanted, count, background, noise = reference(image, **options)
    assert len(table) == count and np.array_equal(labels, wanted)
    assert table["label"].tolist() == list(range(1, count + 1))
    assert table.meta["background"] == background and np.isclose(table.meta["noise"], noise, rtol=1e-12)
    finite = np.where(np.isfinite(image), image, 0).astype(np.float64)
    moments = measure(finite - background, wanted, count)
    for name in ("npix", "peak", "x_peak", "y_peak"):
        assert np.array_equal(table[name], moments[name]), name
    for name in ("flux", "x", "y"):
        assert np.allclose(table[name], moments[name], rtol=1e-9), name
    assert same_covariance(table, moments, moments["npix"] > 1)
    box = np.stack([table[n] for n in ("x_min", "x_max", "y_min", "y_max")], 1).reshape(-1, 4)
    assert np.array_equal(box, moments["box"])
    assert np.allclose(table["snr"], moments["peak"] / noise)
    return table


@pytest.mark.parametrize(
    "options",
    [
        {}, {"connectivity": 8}, {"lesson": True}, {"sigma": 1.0}, {"sigma": 0.5, "connectivity": 8}, {"sigma": 3, "min_area": 9},
        {"kappa": 2.0},
    ],
    ids=str,
)  # fmt: skip
def test_options(device, rng, options):
    assert len(check(field(rng), device, **options)) > 3


@pytest.mark.parametrize("alone", [True, False])
def test_one_thread_and_all_find_the_same(alone, rng, monkeypatch):
    monkeypatch.setattr("footprint.kernels.find_sources.cpu.few", lambda pixels: alone)
    assert len(check(field(rng), "cpu")) > 3


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (13, 11), (65, 64), (64, 65), (131, 127)])
def test_shapes(device, rng, shape):
    check(rng.standard_normal(shape, np.float32), device, sigma=1.0)


@pytest.mark.parametrize("dtype", ["f2", "f8", "i2", "i4", ">f4", ">i2"])
def test_dtypes(device, rng, dtype):
    check((field(rng, (131, 140)) * 20).astype(dtype), device)


def test_nan_inf_and_constant(device, rng):
    image = field(rng)
    image[20:60, 30:90] = np.nan
    image[100, 100], image[101, 100] = np.inf, -np.inf
    check(image, device)
    assert len(fp.find_sources(np.full((40, 40), 7.0), device=device)) == 0


def test_a_background_is_not_a_source(device, rng):
    image = field(rng)
    raised = image + np.float32(1024)
    assert len(fp.find_sources(raised, device=device)) == len(fp.find_sources(raised - np.float32(1024), device=device))
    assert len(fp.find_sources(raised, lesson=True, device=device)) == 1


def test_blocks_change_no_bit(rng):
    image = field(rng, (900, 257), 200)
    labels, again = np.empty(image.shape, np.int32), np.empty(image.shape, np.int32)
    table = fp.find_sources(image, sigma=2.0, labels=labels, device="cpu")
    foreign = image.astype(">f4")
    smallest = smallest_plan(foreign, sigma=2.0, capacity=len(table) * 2, labels=True)
    for memory in ("1MB", "700kB", smallest):
        found = fp.find_sources(foreign, sigma=2.0, labels=again, memory=memory, device="cpu")
        assert np.array_equal(labels, again)
        assert all(np.array_equal(table[name], found[name]) for name in table.colnames)


def smallest_plan(image, **options):
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_find_sources(image.shape, dtype=image.dtype.str, memory=1, device="cpu", **options)
    return caught.value.smallest


def test_small_images_come_row_by_row(rng):
    image = field(rng, (40, 101), 4).astype(">f4")
    plans = []
    smallest = smallest_plan(image)
    whole = fp.find_sources(image, device="cpu")
    part = fp.find_sources(image, memory=smallest, on_plan=plans.append, device="cpu")
    assert plans[0].footprint.total == smallest and plans[0].chunk.size == 1
    assert len(whole) and whole.meta == part.meta and all(np.array_equal(whole[n], part[n]) for n in whole.colnames)


@pytest.mark.parametrize("make", [field, lambda rng, shape: (10 * field(rng, shape)).round()], ids=["forecast", "counted"])
def test_threads_change_no_bit(monkeypatch, rng, make):
    image = make(rng, (600, 257))
    tables = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("FOOTPRINT_THREADS", threads)
        tables.append(fp.find_sources(image, 3.0, device="cpu"))
    for other in tables[1:]:
        assert tables[0].meta == other.meta and all(np.array_equal(tables[0][n], other[n]) for n in other.colnames)


def test_file_like_images_and_label_sinks(rng):
    image = field(rng, (400, 131))

    class File:
        shape, dtype = image.shape, image.dtype

        def read(self, rows, out):
            out[...] = image[rows]

    class Sink:
        rows: list

        def write(self, rows, block):
            self.rows.append((rows.start, rows.stop, block.copy()))

    sink = Sink()
    sink.rows = []
    found = fp.find_sources(File(), labels=sink, memory="150kB", device="cpu")
    labels = np.empty(image.shape, np.int32)
    table = fp.find_sources(image, labels=labels, device="cpu")
    assert all(np.array_equal(table[name], found[name]) for name in table.colnames)
    assert len(sink.rows) > 2 and [r[0] for r in sink.rows[1:]] == [r[1] for r in sink.rows[:-1]]
    assert np.array_equal(np.concatenate([r[2] for r in sink.rows]), labels)


@pytest.mark.parametrize("background", ["global", "mesh"])
def test_where_memory_is_short_there_is_room_for_fewer_sources(background, device, rng):
    """And for as many as there are where these turn out to be more, if the budget has room for them."""
    how = {"background": background, "device": device}
    few, many = field(rng, (900, 700), 20), field(rng, (900, 700), 1500)
    whole = [len(fp.find_sources(image, **how)) for image in (few, many)]
    given = {"capacity": 900 * 700 // 1024, **how}
    with pytest.raises(fp.BudgetError) as usual:
        fp.plan_find_sources(few.shape, memory=1, **given)
    with pytest.raises(fp.BudgetError) as short:
        fp.find_sources(few, memory=1, **how)
    assert short.value.smallest < 0.95 * usual.value.smallest
    assert len(fp.find_sources(few, memory=short.value.smallest, **how)) == whole[0]
    with pytest.raises(fp.BudgetError, match="components, as this image has") as caught:
        fp.find_sources(many, memory=short.value.smallest, **how)
    assert len(fp.find_sources(many, memory=caught.value.smallest, **how)) == whole[1]


def test_crowded_fields_are_planned_again(rng):
    image = rng.standard_normal((200, 210), np.float32)
    plans = []
    table = fp.find_sources(image, sigma=1.0, on_plan=plans.append, device="cpu")
    assert len(plans) == 2 and len(table) > plans[0].outputs[2].spec.shape[0]
    with pytest.raises(fp.CapacityError) as caught:
        fp.find_sources(image, sigma=1.0, capacity=50, device="cpu")
    assert len(fp.find_sources(image, sigma=1.0, capacity=caught.value.needed, device="cpu")) == len(table)
    with pytest.raises(fp.BudgetError, match="components, as this image has") as short:
        fp.find_sources(image, sigma=1.0, memory=plans[0].footprint.total, device="cpu")
    assert len(fp.find_sources(image, sigma=1.0, memory=short.value.smallest, device="cpu")) == len(table)


def header():
    cards = {"NAXIS": 2, "BUNIT": "JY/BEAM", "BMAJ": 5 * 2 / 3600, "BMIN": 5 * 2 / 3600, "BPA": 0.0}
    for i, (kind, value, step) in enumerate((("RA---SIN", 266.4, -2 / 3600), ("DEC--SIN", -29.0, 2 / 3600)), 1):
        cards |= {f"CTYPE{i}": kind, f"CRVAL{i}": value, f"CDELT{i}": step, f"CRPIX{i}": 51.0, f"CUNIT{i}": "deg"}
    return cards


def test_positions_and_janskys():
    from astropy import units as u

    y, x = np.indices((101, 101))
    width = 5 / (2 * np.sqrt(2 * np.log(2)))
    rng = np.random.default_rng(5)
    image = 1e-6 * rng.standard_normal((101, 101)) + 2.5 * np.exp(-((x - 50) ** 2 + (y - 50) ** 2) / (2 * width**2))
    table = fp.find_sources(image, header=header(), device="cpu")
    row = table[np.argmax(table["peak"])]
    assert abs(row["ra"] - 266.4) < 1e-6 and abs(row["dec"] + 29.0) < 1e-6
    assert table["flux"].unit == u.Jy and table["peak"].unit == u.Jy / u.beam
    assert abs(row["flux"] - 2.5) < 1e-3, "a point source's flux is its peak"
    plain = fp.find_sources(image, device="cpu")
    assert "ra" not in plain.colnames and np.allclose(plain["flux"], table["flux"] * table.meta["beam_area"])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"sigma": 0}, "sigma"), ({"kappa": -1}, "kappa"), ({"connectivity": 5}, "connectivity"), ({"min_area": 0}, "min_area"),
        ({"capacity": 0}, "capacity"), ({"labels": np.zeros((3, 3))}, "labels"), ({"memory": "1 parsec"}, "memory"),
        ({"device": "abacus"}, "device"),
    ],
)  # fmt: skip
def test_bad_arguments(options, name):
    with pytest.raises(fp.FootprintError, match=name):
        fp.find_sources(np.ones((8, 8)), **({"device": "cpu"} | options))


@pytest.mark.parametrize(
    "image", [np.ones((2, 3, 4)), np.ones(5), np.ones((0, 5)), np.full((4, 4), np.nan), np.ones((3, 3), complex)]
)
def test_bad_images(image):
    with pytest.raises(fp.ShapeError, match="image"):
        fp.find_sources(image, device="cpu")


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (4, 4)])
def test_of_equal_peaks_in_joined_arms_the_first_in_raster_order_counts(device, rng, left, right, mirrored):
    """Arms of one island that meet further down: each has a peak of the same height of its own."""
    image = (rng.standard_normal((40, 50)) * 0.01).astype("f4")
    image[2:9, 30:32], image[0:9, 38:40], image[8, 30:40] = 5, 5, 5
    image[left, 30:32] = image[right, 38:40] = 9
    image = image[:, ::-1].copy() if mirrored else image
    table = check(image, device, sigma=5)
    y, x = (right, 38) if right < left or (right == left and mirrored) else (left, 30)
    assert (table["y_peak"][0], table["x_peak"][0]) == (y, 49 - (x + 1) if mirrored else x)


@pytest.mark.parametrize("options", [{"min_area": 3}, {"lesson": True}, {"connectivity": 8, "min_area": 2}], ids=str)
def test_islands_of_few_pixels_and_a_background(device, rng, options):
    """Islands of one to four pixels, two of them joined at a corner, on a background that the lesson does not take off."""
    image = (rng.standard_normal((24, 30)) * 0.01 + 0.03).astype("f4")
    for n, (y, x) in enumerate([(2, 3), (8, 20), (15, 9), (20, 24)], 1):
        image[y, x : x + n] = 5 + np.arange(n)
    image[9, 22] = 7
    assert len(check(image, device, sigma=4, **options)) >= 2


def test_what_a_crowd_outgrew_is_given_back_before_it_is_planned_again(rng, monkeypatch):
    """The error came through frames that held the first plan's memory, so both were there at once."""
    image = rng.standard_normal((300, 310), np.float32)
    held, alive, plans = [], [], []

    class Block(mmap.mmap):
        def __new__(cls, *args, **options):
            if len(alive) < len(plans):
                alive.append(sum(ref() is not None for ref in held))
            block = super().__new__(cls, *args, **options)
            held.append(weakref.ref(block))
            return block

    monkeypatch.setattr(mmap, "mmap", Block)
    fp.find_sources(image, sigma=1.0, on_plan=plans.append, device="cpu")
    assert alive == [0, 0] and len(held) > 1


def test_metadata_tell_every_choice(rng):
    image = rng.standard_normal((64, 64))
    plain = fp.find_sources(image, device="cpu").meta
    told = fp.find_sources(image, device="cpu", maxiters=2, lesson=True, windowed=4).meta
    chosen = {"maxiters": 2, "background_by": "lesson", "windowed": "4 pixels"}
    assert not chosen.keys() & plain.keys() and {name: told[name] for name in chosen} == chosen
