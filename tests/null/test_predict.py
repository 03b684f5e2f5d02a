"""Predicted seconds count what is really carried: neighbours' rows, repeated reads, held inputs, passes, decompression."""

from __future__ import annotations

import h5py
import hdf5plugin
import numpy as np
import pytest

import footprint as fp
from footprint.api import _way
from footprint.api.convolve_rows import convolve_rows, plan_convolve_rows
from footprint.io.phantom import write_scan
from footprint.plan.builder import Builder
from footprint.plan.job import Job
from footprint.plan.predict import crossed, lane_seconds
from footprint.plan.rates import Cost, rates
from footprint.plan.slots import Cut, Given, Halo, Library
from footprint.plan.tried import Known, Tried
from footprint.spec import ArraySpec, Limits

CPU, SOURCE = Limits(threads=2), Given(owner="source")
DISK = rates(CPU).disk


def _lane(plan, name):
    return dict(plan.seconds)[name]


@pytest.mark.parametrize(("taps", "memory"), [(3, "8MB"), (101, "2MB"), (101, "8MB"), (301, "4MB")])
def test_what_is_read_is_what_was_foretold(taps, memory):
    shape, rows = (4000, 1000), []
    plan = convolve_rows(
        lambda start, stop, block: rows.append(stop - start),
        shape,
        "float32",
        np.ones((taps, 1)),
        lambda start, stop, block: None,
        method="direct",
        memory=memory,
        device="cpu",
    )
    assert plan.n_parts == len(rows) > 1
    assert _lane(plan, "read") == pytest.approx(4 * shape[1] * sum(rows) / DISK, rel=0.01)
    assert _lane(plan, "write") == pytest.approx(4 * shape[0] * shape[1] / DISK, rel=1e-6)
    if taps > 3:
        assert sum(rows) > 1.1 * shape[0]


def test_many_parts_are_foretold_as_few_are():
    b = Builder(CPU, (Cut("z", 5000, 7),))
    x = b.inp(ArraySpec((5000, 10), "float32", "z."), "x", SOURCE, {"z": Halo(3, 5)})
    b.bring(x)
    exact = sum(stop - start for start, stop in (Halo(3, 5).window(*b.cuts[0].range(i), 5000) for i in range(b.cuts[0].count)))
    assert crossed(b, rates(CPU)).read == pytest.approx(exact * 40 / DISK, rel=1e-3)


def test_an_input_without_the_cut_axis_comes_with_every_part_and_a_held_one_with_the_first_of_a_sum():
    def read(cuts, axes, shape, again=False):
        b = Builder(CPU, cuts)
        reach = {cut.axis: Halo() for cut in cuts if cut.axis in axes}
        x = b.inp(ArraySpec(shape, "float32", axes), "x", SOURCE, reach)
        if again:
            # What a kernel changes is filled anew.
            b.fetch(x, b.like(x))
        else:
            b.bring(x)
        return crossed(b, rates(CPU)).read * DISK / 4

    z, a = Cut("z", 12, 3), Cut("a", 100, 25, sums=True)
    assert read((z,), "a.", (100, 8)) == 4 * 800
    assert read((z, a), "za", (12, 100)) == 1200
    # Filled with the first part of every sum.
    assert read((z, a), "z.", (12, 8)) == 96
    assert read((z, a), "z.", (12, 8), again=True) == 4 * 96
    assert read((z, a), "a.", (100, 8)) == 4 * 800


def test_passes_are_counted_where_parts_are_filled_again():
    for cuts, times in (((), 1), ((Cut("z", 12, 3),), 5)):
        b = Builder(CPU, cuts)
        flag = b.kept((1,), "int32", "flag")
        x = b.bring(b.inp(ArraySpec((12, 8), "float32", "z."), "x", SOURCE))
        b.until(flag, usual=5)
        assert x.slot.kind == "scratch"
        assert crossed(b, rates(CPU)).read == pytest.approx(times * 12 * 8 * 4 / DISK)


def test_bytes_across_a_bus_are_those_that_cross_it():
    gpu = fp.plan_convolve((4, 4), (3, 3), device="null:h100").limits
    b = Builder(gpu)
    x = b.inp(ArraySpec((2000, 1000), "uint8"), "x", SOURCE)
    y = b.out(ArraySpec((2000, 1000)), "y", SOURCE)
    b.bring(x, "float32")
    with b.deliver(y, "float32"):
        pass
    rate = rates(gpu)
    seconds = dict(lane_seconds(rate, Cost(launches=0), b, crossed(b, rate)))
    assert seconds["upload"] == pytest.approx(2e6 / rate.link) and seconds["download"] == pytest.approx(8e6 / rate.link)


def test_tiles_that_read_projections_again_are_foretold_so():
    shape, options = (200, 2, 512), {"written": True, "device": "cpu", "method": "direct"}
    whole = fp.plan_reconstruct(shape, memory="100MB", **options)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(shape, memory=1000, **options)
    tiles = fp.plan_reconstruct(shape, memory=caught.value.smallest, **options)
    again = int(np.prod([cut.count for cut in tiles.cuts if not cut.sums and cut.axis != "z"]))
    assert again > 10 and _lane(tiles, "read") > 0.9 * again * _lane(whole, "read")


def test_a_mask_so_tall_that_parts_read_their_rows_twice_is_convolved_in_larger_ones():
    """Side by side three copies of a part must fit: one thread alone has room for larger parts, which read less."""
    how = {"dtype": "float32", "method": "direct", "memory": "2MB", "device": "cpu"}
    tall, flat = (plan_convolve_rows((4000, 1000), (taps, 1), **how) for taps in (101, 3))
    assert len(flat.lanes) == 3 and len(tall.lanes) == 1
    assert tall.chunk.size > 91


@pytest.fixture
def scan(tmp_path):
    """Compressed, a projection a chunk."""
    with fp.open_scan(write_scan(tmp_path / "scan.nx", n_angles=30, n_z=16, n_x=64).path) as scan:
        yield scan


def test_decompressing_is_foretold_as_often_as_it_is_done(scan):
    options = {"written": True, "device": "cpu", "method": "direct", "center": 31.5}
    plain = fp.plan_reconstruct(scan.shape, memory="100MB", **options)
    whole = fp.plan_reconstruct(scan, memory="100MB", **options)
    nbytes = 2 * np.prod(scan.shape)
    # A row comes with all of its chunk.
    assert scan.decoding(30, 1) == scan.decoding(30, 16) > scan.decoding(15, 16)
    assert _lane(whole, "read") - _lane(plain, "read") == pytest.approx(nbytes / 2e8 + 30 * 3e-5, rel=0.2)
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(scan, memory=1000, **options)
    short = fp.plan_reconstruct(scan, memory=caught.value.smallest, **options)
    times = [int(note.split()[4]) for note in short.notes if "decompressed" in note]
    assert times and times[0] > 2 and _lane(short, "read") > 0.8 * times[0] * _lane(whole, "read")


@pytest.mark.filterwarnings("ignore:.*no (flats|darks)")
def test_blocks_of_bitshuffle_are_decoded_once_whatever_the_budget(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        storage = {"chunks": (1, 64, 640), "compression": hdf5plugin.Bitshuffle(cname="lz4")}
        file.create_dataset("bits", data=np.ones((30, 64, 640), "u2"), **storage)
    with fp.open_scan(f"{tmp_path}/a.h5:/bits", angles=np.arange(30) / 10) as scan:
        # Rows apart take what they take together, but for what each chunk takes.
        assert 8 * scan.decoding(30, 8) - scan.decoding(30, 64) == pytest.approx(7 * 30 * 3e-5)
        plan = fp.plan_reconstruct(scan, written=True, device="cpu", center=300.0, log=False, memory="8MB")
        assert plan.n_parts > 1 and not any("decompressed" in note for note in plan.notes)
        assert plan.footprint.total <= 8_000_000


def test_what_branches_is_foretold_by_its_work_and_not_by_its_bytes():
    plain = fp.plan_find_sources((512, 512), device="cpu")
    deblended = fp.plan_find_sources((512, 512), flood=3, deblend=True, device="cpu")
    fitted = fp.plan_find_sources((512, 512), flood=3, deblend=True, fit="gaussian", device="cpu")
    more = fp.plan_find_sources((512, 512), flood=3, deblend=True, fit="gaussian", capacity=4000, device="cpu")
    seconds = [_lane(plan, "compute") for plan in (plain, deblended, fitted, more)]
    # Ten looks at a pixel and not five bytes each way; and every source that there is room for.
    assert seconds[0] > 5 * 512 * 512 * 8 / rates(CPU).memory and seconds == sorted(seconds) and seconds[3] > 2 * seconds[2]


def _times(plan):
    return [int(note.split()[4]) for note in plan.notes if "decompressed" in note]


def test_parts_of_a_slice_are_said_to_decompress_the_scan_once_each(scan):
    options = {"written": True, "device": "cpu", "center": 31.5}
    with pytest.raises(fp.BudgetError) as caught:
        fp.plan_reconstruct(scan, memory=1000, **options)
    least = fp.plan_reconstruct(scan, memory=caught.value.smallest, **options)
    counts = {cut.axis: cut.count for cut in least.cuts}
    assert counts["z"] == 16 and counts["y"] > 1
    assert _times(least) == [16 * counts["y"]]
    assert _lane(least, "read") == pytest.approx(_times(least)[0] * scan.decoding(30, 16), rel=0.5)


def test_what_one_search_knows_changes_no_other_plan(scan, monkeypatch):
    """Searches differ in the rows that are kept; each has what the others recorded, and no refusal is searched for in between."""
    options = {"written": True, "device": "cpu", "center": 31.5}

    def plans():
        found = []
        for memory in (784_000, 800_000, 850_000, 950_000, 1_100_000, None):
            plan = fp.plan_reconstruct(scan, memory=memory, **options)
            assert memory is None or plan.footprint.total <= memory
            found.append((plan.key, plan.footprint, plan.seconds, plan.notes, plan.slow))
        return found

    together, recorded = plans(), Known()
    apart = _way.fit_if_any
    monkeypatch.setattr(_way, "fit_if_any", lambda *given: apart(*given[:-1], Known()))
    assert plans() == together and len({found[0] for found in together}) > 4
    monkeypatch.setattr(_way, "fit_if_any", lambda *given: apart(*given[:-1], recorded))
    fp.plan_reconstruct(scan, memory=850_000, **options)
    assert recorded.sizes
    monkeypatch.setattr(Tried, "_record", lambda *given: pytest.fail("it was recorded again"))
    for rows in (8, 0):
        kept = lambda cuts, n=rows: Library("kept", n * 1000 * len(cuts), False)
        tried = Tried(CPU, None, "reconstruct", Job(print, beside=kept), recorded)
        for (cuts, rung), size in recorded.sizes.items():
            assert tried.size(cuts, rung).nbytes == size.nbytes + rows * 1000 * len(cuts)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.filterwarnings("ignore:.*no (flats|darks)")
def test_where_slices_are_made_in_parts_more_memory_takes_no_longer(tmp_path, compression):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=np.ones((200, 16, 400), "u2"), chunks=(1, 16, 400), compression=compression)
    with fp.open_scan(f"{tmp_path}/a.h5:/data", angles=np.arange(200) / 64) as scan:
        options = {"written": True, "device": "cpu", "center": 199.5, "log": False}
        with pytest.raises(fp.BudgetError) as caught:
            fp.plan_reconstruct(scan, memory=1000, **options)
        before = np.inf
        for budget in np.geomspace(caught.value.smallest, 3 * caught.value.smallest, 12):
            plan = fp.plan_reconstruct(scan, memory=int(budget), **options)
            assert plan.footprint.total <= budget
            if any(cut.axis == "y" for cut in plan.cuts):
                # Sizes of parts are whole numbers, so that a little more memory may gain nothing.
                assert _lane(plan, "read") <= 1.2 * before, (budget, plan.cuts, plan.notes)
                before = min(before, _lane(plan, "read"))


def test_parts_that_would_retrieve_the_phase_of_many_rows_for_few_slices_are_made_larger():
    """Every part needs 64 rows more on both sides; parts of 5 slices computed 26 times the rows that there are."""
    settings = {"method": "fourier", "written": True, "device": "cpu", "dtype": "uint16"}
    phase = fp.steps(phase={"delta_beta": 20, "energy": 25, "distance": 0.05, "pixel_size": 2e-6})
    plan = fp.plan_reconstruct((300, 1024, 512), steps=phase, memory="1GB", **settings)
    assert plan.cuts[0].size >= 64
    tight = fp.plan_reconstruct((300, 1024, 512), steps=phase, memory="200MB", **settings)
    assert tight.cuts[0].size < plan.cuts[0].size / 2
    # What parts compute again is foretold; without a step that looks at its neighbours nothing is.
    assert _lane(tight, "compute") > 1.1 * _lane(plan, "compute")
    plain = [fp.plan_reconstruct((300, 1024, 512), memory=memory, **settings) for memory in ("1GB", "200MB")]
    assert _lane(plain[0], "compute") == pytest.approx(_lane(plain[1], "compute"), rel=0.02)


def test_parts_that_larger_ones_show_to_be_slower_are_not_recorded(monkeypatch):
    """Whatever the budget, the plan is the one of a search that records them all."""
    recorded, record = [], Tried._record
    monkeypatch.setattr(Tried, "_record", lambda self, cuts, rung: (recorded.append(cuts), record(self, cuts, rung))[1])

    def plans():
        recorded.clear()
        found = []
        for memory in ("3MB", "8MB", "30MB", None):
            found.append(plan_convolve_rows((4096, 1024), (3, 1), method="direct", memory=memory, device="cpu"))
            found.append(plan_convolve_rows((4096, 1024), (301, 1), method="direct", memory=memory, device="cpu"))
            found.append(fp.plan_find_sources((4096, 1024), streamed=True, memory=memory, capacity=1000, device="cpu"))
        return [(plan.key, plan.seconds, plan.choices, plan.slow) for plan in found], len(recorded)

    skipping, few = plans()
    monkeypatch.setattr(Tried, "at_least", Tried.foretold)
    every, many = plans()
    assert skipping == every and few < many
