"""Clips against a float64 sort: counts, iterations and medians are equal, sums agree to rounding."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import footprint as fp
from footprint.io.image import Image
from footprint.kernels.sigma_clip.contract import glance_rows
from footprint.plan.rates import rates
from footprint.reference.sigma_clip import sigma_clip as reference


def check(image, device, *, exact=True, **options):
    got = fp.sigma_clip(image, device=device, **options)
    wanted = reference(np.asarray(image), **options)
    assert got.count == wanted["count"] and got.iterations == wanted["iterations"]
    assert got.median == wanted["median"]
    for name in ("mean", "std", "low", "high"):
        assert np.isclose(getattr(got, name), wanted[name], rtol=1e-9, atol=1e-9 * wanted["std"]), name
    return got


def field(rng, shape=(256, 301)):
    """Noise, a few bright sources, an emission gradient."""
    image = rng.standard_normal(shape, np.float32)
    image[rng.random(shape) < 0.01] += 100
    return image + np.linspace(0, 0.3, shape[-1], dtype=np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (13, 11), (64, 64), (97, 131), (1, 30011), (30011, 1)])
def test_shapes(device, rng, shape):
    check(rng.standard_normal(shape, np.float32), device)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", ">f4", ">f8", ">i2"])
def test_dtypes(device, rng, dtype):
    check((10 * field(rng, (120, 131))).astype(dtype), device)


@pytest.mark.parametrize(
    "options", [{}, {"sigma": 2.0}, {"sigma": 1.5, "strict": False}, {"maxiters": 0}, {"maxiters": 1}, {"maxiters": 5}], ids=str
)
def test_options(device, rng, options):
    check(field(rng), device, **options)


def test_what_is_not_finite_is_ignored(device, rng):
    image = field(rng)
    image[::3, 5] = np.nan
    image[7, 7], image[8, 8] = np.inf, -np.inf
    got = check(image, device)
    assert got.count < np.isfinite(image).sum()


def test_what_is_masked_is_left_out(rng):
    """Of any shape and whole numbers too; the same pixels without their mask were clipped before."""
    image = rng.standard_normal((4, 30, 20)).astype("f4")
    for data in (image, image[1], image[2, 3], (100 * image).astype("i2")):
        mask = data > 0.8 * data.max()
        fp.sigma_clip(data, device="cpu")
        assert fp.sigma_clip(np.ma.array(data, mask=mask), device="cpu") == fp.sigma_clip(data[~mask], device="cpu")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "make",
    [
        lambda r, n: np.full(n, 3.25),
        lambda r, n: r.integers(0, 4, n) ** 3,
        lambda r, n: np.where(r.random(n) < 0.5, 0.0, r.standard_normal(n)),
        lambda r, n: r.standard_exponential(n) ** 4,
        lambda r, n: np.where(r.random(n) < 0.4, 1e6, 0.0) + r.standard_normal(n),
        lambda r, n: r.standard_normal(n) + 1e6,
        lambda r, n: r.standard_normal(n) * 1e-30,
        lambda r, n: -np.abs(r.standard_cauchy(n)),
    ],
    ids=["constant", "few values", "half zero", "exponential", "two levels", "offset", "tiny", "heavy tail"],
)
def test_images_that_defeat_a_forecast(device, rng, make, dtype):
    check(make(rng, (250, 307)).astype(dtype), device)


def test_one_pixel_beyond_reason_costs_no_digits(device, rng):
    image = field(rng)
    image[5, 5] = 1e30
    check(image, device)


def test_a_sample_that_lies(device, rng):
    """Pixels of the sample's stride are drawn from another distribution than the rest."""
    from footprint.kernels.sigma_clip.contract import sample_stride

    image = rng.standard_normal((300, 307), np.float32)
    image.ravel()[:: sample_stride(image.size, 307)] = 50 + rng.random(len(image.ravel()[:: sample_stride(image.size, 307)]))
    check(image, device)


def test_strides_and_read_only_and_axes(device, rng):
    image = field(rng, (4, 60, 131))
    image.flags.writeable = False
    for view in (image, image[:, ::2], image[..., ::-3], image.transpose(2, 0, 1), image.ravel(), image[0]):
        check(view, device)


def test_blocks_change_no_bit(rng):
    image = field(rng, (700, 257))
    whole = fp.sigma_clip(image, device="cpu")
    plan = fp.plan_sigma_clip(image.shape, dtype=">f4", device="cpu")
    smaller = fp.plan_sigma_clip(image.shape, dtype=">f4", memory=plan.footprint.total // 2, device="cpu")
    assert plan.chunk is None and smaller.n_parts > 1
    assert fp.sigma_clip(image.astype(">f4"), memory=plan.footprint.total // 2, device="cpu") == whole


# Lengths of axes of which few strips are looked at before the rest.
LARGE = (530, 2052)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: r.standard_normal(LARGE, np.float32) + 100 * (r.random(LARGE) < 0.01),
        lambda r: r.standard_normal(LARGE, np.float32) + r.standard_normal((LARGE[0], 1)),
        lambda r: np.where(np.arange(LARGE[0])[:, None] < 500, np.nan, r.standard_normal(LARGE, np.float32)),
    ],
    ids=["strips tell", "strips differ", "strips are empty"],
)
def test_strips_that_are_looked_at_first_change_no_bit(rng, make):
    image = make(rng).astype(np.float32)
    whole = check(image, "cpu")
    foreign = image.astype(">f4")
    total = fp.plan_sigma_clip(LARGE, dtype=">f4", device="cpu").footprint.total
    for memory in (total // 2, total // 4):
        assert fp.sigma_clip(foreign, memory=memory, device="cpu") == whole


def test_a_pass_begins_at_the_first_row_though_strips_end_before_the_last():
    """Sums go down the image from its top: a pass that began behind the last strip added them up in another order."""
    image = np.random.default_rng(0).standard_normal((1100, 2052)) * np.linspace(0.5, 1.5, 1100)[:, None]
    rows = SimpleNamespace(shape=image.shape, dtype=image.dtype, read=lambda part, out: np.copyto(out, image[part]))
    assert max(stop for _, stop in glance_rows(image.size, image.shape[1])) < len(image)
    with pytest.raises(fp.BudgetError) as caught:
        fp.sigma_clip(rows, memory=1000, device="cpu")
    assert fp.sigma_clip(rows, memory=caught.value.smallest, device="cpu") == fp.sigma_clip(image, device="cpu")


def test_a_file_is_not_read_through_for_a_sample(rng, tmp_path, monkeypatch):
    """Once for the clip, and once for the sources; rows between the strips are not asked for before."""
    rows, plans, read = [], [], Image.read
    np.save(tmp_path / "sky.npy", rng.standard_normal(LARGE, np.float32))
    monkeypatch.setattr(Image, "read", lambda self, part, out: (rows.append(part.stop - part.start), read(self, part, out)))
    with fp.open_image(tmp_path / "sky.npy") as sky:
        # A few rows are looked at before there is a plan.
        fp.find_sources(sky, memory="2MB", on_plan=lambda plan: (plans.append(plan), rows.clear()), device="cpu")
    assert plans[0].n_parts > 2
    assert sum(rows) == 2 * LARGE[0] + sum(stop - start for start, stop in glance_rows(LARGE[0] * LARGE[1], LARGE[1]))
    assert dict(plans[0].seconds)["read"] == pytest.approx(4 * LARGE[1] * sum(rows) / rates(plans[0].limits).disk)


@pytest.mark.parametrize("bad", [np.zeros((0, 4)), np.full((3, 3), np.nan), np.full((300, 300), np.inf)])
def test_nothing_to_clip(bad):
    with pytest.raises(fp.ShapeError, match="image"):
        fp.sigma_clip(bad, device="cpu")


@pytest.mark.parametrize("options", [{"sigma": 0}, {"sigma": np.nan}, {"sigma": "x"}, {"maxiters": -1}, {"maxiters": 1.5}])
def test_bad_arguments(options):
    with pytest.raises(fp.ArgumentError, match=next(iter(options))):
        fp.sigma_clip(np.ones((3, 3)), device="cpu", **options)


def test_budget_too_small_names_the_smallest_that_works():
    image = np.random.default_rng(0).standard_normal((512, 512)).astype(">f4")
    with pytest.raises(fp.BudgetError) as caught:
        fp.sigma_clip(image, memory=1000, device="cpu")
    fp.sigma_clip(image, memory=caught.value.smallest, device="cpu")
    with pytest.raises(fp.BudgetError):
        fp.plan_sigma_clip(image.shape, dtype=">f4", memory=caught.value.smallest - 1, device="cpu")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("shape", "lies"), [((20, 24), False), ((300, 307), False), ((300, 307), True)])
def test_pixels_on_a_bound_stay_where_that_counts_as_inside(device, rng, shape, dtype, lies, strict):
    """What outliers leave has, exactly, a standard deviation of 1, and an eighth of it lies on either bound of 2 of them.

    With a sample of nothing but outliers no forecast holds, and bounds are those of a counting pass.
    """
    from footprint.kernels.sigma_clip.contract import sample_stride

    image = np.zeros(shape, dtype)
    flat = image.reshape(-1)
    out = np.zeros(flat.size, bool)
    out[:: sample_stride(flat.size, shape[1]) if lies else 37] = True
    out[np.flatnonzero(~out)[: (~out).sum() % 8]] = True
    places = rng.permutation(np.flatnonzero(~out))
    eighth = places.size // 8
    flat[places[:eighth]], flat[places[-eighth:]] = 2, -2
    flat[out] = np.where(np.arange(out.sum()) % 2, 1000, -1000)
    got = check(image, device, sigma=2.0, strict=strict)
    assert got.count == (6 if strict else 8) * eighth


def test_strided_blocks_are_the_pixels_they_show(device, rng):
    """In the rows of a budget, too: an offset into the array a view is of would give other pixels."""
    image = field(rng, (1400, 771))[::2, ::-3]
    wanted = reference(np.ascontiguousarray(image))
    with pytest.raises(fp.BudgetError) as caught:
        fp.sigma_clip(image, device=device, memory=1)
    for memory in (caught.value.smallest, None):
        got = fp.sigma_clip(image, device=device, memory=memory)
        assert (got.count, got.median) == (wanted["count"], wanted["median"])


@pytest.mark.parametrize("maxiters", [0, 1, 2, 3])
def test_counting_keeps_to_maxiters(device, rng, maxiters):
    """Where no forecast holds, clips are made pass by pass, and no more of them than were asked for."""
    from footprint.kernels.sigma_clip.contract import sample_stride

    image = rng.standard_exponential((300, 307)).astype("f4") ** 3
    image.ravel()[:: sample_stride(image.size, 307)] = 5000 + rng.random(len(image.ravel()[:: sample_stride(image.size, 307)]))
    check(image, device, maxiters=maxiters)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sigma", [1.2, 1.5])
def test_clips_that_leave_few_pixels_of_many(device, rng, dtype, sigma):
    """Bounds go on to shrink: the first clips are made pass by pass, and the others on what is left."""
    image = (rng.standard_normal((300, 307)) * 1e-3).astype(dtype)
    image[::7, 5], image[1::7, 5], image[2::50, 9] = 0.0, -0.0, np.nan
    got = check(image, device, sigma=sigma)
    assert got.iterations > 30 and got.count < image.size // 100


def test_the_median_of_an_even_number_of_pixels_is_numpys_to_the_last_bit(device, rng):
    for _ in range(40):
        pair = rng.standard_normal(2) * 10.0 ** rng.integers(-9, 9)
        assert fp.sigma_clip(pair, sigma=10, device=device).median == np.median(pair)
        image = (rng.standard_normal(40) + 7).astype(np.float64)
        assert fp.sigma_clip(image, sigma=100, device=device).median == np.median(image)


def test_a_median_between_the_largest_numbers_is_one_of_them():
    median = fp.sigma_clip(np.array([1.6e308, 1.7e308]), sigma=1e9, maxiters=0, device="cpu").median
    assert np.isclose(median, 1.65e308, rtol=1e-15)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_pixels_put_aside_are_sorted_whatever_their_values(rng, kind):
    from footprint.kernels.sigma_clip.clip_loops import sort_floats

    info, bits = np.finfo(kind), f"u{np.dtype(kind).itemsize}"
    near = [0.0, -0.0, info.tiny, -info.tiny, info.smallest_subnormal, info.max, info.min, 1.0, 1.0 + info.eps]
    wide = rng.standard_normal(3000) * 10.0 ** rng.integers(-30, 30, 3000)
    for values in (wide, rng.integers(-3, 3, 999), np.full(70, -2.5), [7.0], rng.choice(near, 500)):
        array = np.asarray(values).astype(kind)
        wanted, half = np.sort(array), np.uint64(1 << (8 * array.itemsize - 1))
        sort_floats(array.view(bits), np.empty_like(array).view(bits), half)
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_many_pixels_put_aside_are_sorted_by_several_threads(rng, kind, threads):
    from footprint.kernels.sigma_clip.clip_loops import share_floats

    bits, half = f"u{np.dtype(kind).itemsize}", np.uint64(1 << (8 * np.dtype(kind).itemsize - 1))
    for n in (0, 1, 5, 30_011):
        for values in (rng.standard_normal(n) * 10.0 ** rng.integers(-30, 30, n), np.sort(rng.standard_normal(n))[::-1]):
            array = values.astype(kind)
            wanted = np.sort(array)
            share_floats(array.view(bits), np.empty_like(array).view(bits), half, threads)
            np.testing.assert_array_equal(array, wanted)


def test_pixels_put_aside_are_sorted_whatever_room_is_left(rng):
    from footprint.kernels.sigma_clip.clip_loops import sort_kept

    for room in (50_000, 40_000, 30_000, 25_000, 20_000):
        for values in (rng.standard_normal(20_000), np.full(20_000, 2.5), np.arange(20_000) % 3 - 1):
            kept = np.full(room, np.nan, np.float32)
            kept[:20_000] = values
            sort_kept(kept[:20_000], kept[20_000:])
            np.testing.assert_array_equal(kept[:20_000], np.sort(values.astype(np.float32)))


# From below the first bulk to above the second: each edge is met by values.
EDGES = (-2.0, -0.5, 0.5, 2.0, -4.0, 4.0)
SIZES = ((1, 7), (15, 15), (33, 16), (5000, 1111), (40_000, 4096))


def scanned(rng, kind, size, strip):
    """Values that meet the edges of a scan, in strips."""
    values = rng.choice([np.nan, np.inf, -np.inf, -4.0, -2.0, -0.5, 0.0, 0.5, 2.0, 4.0, 5.0], size).astype(kind)
    values[::3] = rng.standard_normal(len(values[::3]))
    return values, [values[at : at + strip] for at in range(0, size, strip)]


def a_way(name):
    """A loop of a scan; that by vectors where this processor has them."""
    from footprint.kernels.common.vectors import SHIFTS
    from footprint.kernels.sigma_clip import cpu_scan

    if "vectors" in name and not SHIFTS:
        pytest.skip("this processor has no vectors of 64 bytes")
    return getattr(cpu_scan, name)


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("way", ["sum_by_vectors", "sum_by_parts"])
def test_what_lies_in_the_bulks_is_counted_and_summed(rng, kind, way):
    for size, strip in SIZES:
        values, strips = scanned(rng, kind, size, strip)
        sums = np.full((len(strips), 8), 77.0)
        a_way(way)(values, strip, 0.25, *map(values.dtype.type, EDGES), sums)
        for found, some in zip(sums, strips):
            left = [x for x in some.tolist() if -2 <= x < -0.5]
            bulk = left + [x for x in some.tolist() if 0.5 < x <= 2]
            within = sum(-4 <= x <= 4 for x in some.tolist())
            assert found[:3].tolist() == [within - len(bulk), len(left), len(bulk)]
            wanted = math.fsum(x - 0.25 for x in bulk), math.fsum((x - 0.25) ** 2 for x in bulk)
            np.testing.assert_allclose(found[3:5], wanted, rtol=1e-13, atol=1e-12)
            assert (found[5:] == 77).all()


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("way", ["keep_by_vectors", "keep_by_eights"])
def test_what_is_put_aside_is_what_is_wanted_in_the_image_s_order(rng, kind, way):
    for size, strip in SIZES:
        values, strips = scanned(rng, kind, size, strip)
        wanted = [[x for x in some if -4 <= x <= 4 and not (-2 <= x < -0.5 or 0.5 < x <= 2)] for some in strips]
        sums = np.zeros((len(wanted), 8))
        sums[:, 0] = [len(one) for one in wanted]
        # From the second place on, the last strip first: nothing before, between and behind them is touched.
        starts, at = {}, 1
        for number in reversed(range(len(wanted))):
            starts[number], at = at, at + len(wanted[number])
        sums[:, 5] = [starts[i] for i in range(len(wanted))]
        kept = np.full(at + 9, 77, kind)
        # One after the other, so that what one writes beyond its share is seen.
        for number, some in enumerate(strips):
            a_way(way)(some, strip, *map(values.dtype.type, EDGES), sums[number : number + 1], kept)
        np.testing.assert_array_equal(kept, np.concatenate([[77], *reversed(wanted), [77] * 9]).astype(kind))
