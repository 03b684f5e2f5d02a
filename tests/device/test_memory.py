"""Memory truth on a device: at budgets drawn over three decades, what every verb holds while it runs stays within its plan."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import footprint as fp
from footprint.backend.registry import open_backend

# The driver hands memory out in pages of 2 MiB: a block may hold that much more than it was asked for.
PAGE = 2 << 20
RNG = np.random.default_rng(11)


def noise(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, np.float32)


IMAGE, STACK, SINOGRAMS = noise(600, 1500), noise(40, 64, 512), noise(4, 200, 500)
SKY = IMAGE.copy()
SKY[8::64, 8::64] += 50
MASK, SHIFTS = np.ones((9, 9), "f4"), np.linspace(-3, 3, 40)

# Verb: how it is planned and how it is run, within a budget.
JOBS: dict[str, tuple[Callable[..., fp.Plan], Callable[..., object]]] = {
    "convolve": (lambda **o: fp.plan_convolve(IMAGE.shape, MASK.shape, **o), lambda **o: fp.convolve(IMAGE, MASK, **o)),
    "vertical_shift": (lambda **o: fp.plan_vertical_shift(STACK.shape, **o), lambda **o: fp.vertical_shift(STACK, SHIFTS, **o)),
    "ramp_filter": (lambda **o: fp.plan_ramp_filter(SINOGRAMS.shape, **o), lambda **o: fp.ramp_filter(SINOGRAMS, **o)),
    "ramp_filter by cuFFT": (
        lambda **o: fp.plan_ramp_filter((60, 40000), **o),
        lambda **o: fp.ramp_filter(np.ones((60, 40000), "f4"), **o),
    ),
    "ramp_filter by VkFFT": (
        lambda **o: fp.plan_ramp_filter((8, 40000), fft="vkfft", **o),
        lambda **o: fp.ramp_filter(np.ones((8, 40000), "f4"), fft="vkfft", **o),
    ),
    "backproject": (lambda **o: fp.plan_backproject(SINOGRAMS.shape, **o), lambda **o: fp.backproject(SINOGRAMS, **o)),
    "fbp": (lambda **o: fp.plan_fbp(SINOGRAMS.shape, method="direct", **o), lambda **o: fp.fbp(SINOGRAMS, method="direct", **o)),
    "project": (lambda **o: fp.plan_project(STACK.shape, 90, **o), lambda **o: fp.project(STACK, 90, **o)),
    "sirt": (
        lambda **o: fp.plan_sirt(SINOGRAMS.shape, iterations=2, **o),
        lambda **o: fp.sirt(SINOGRAMS, iterations=2, **o),
    ),
    "fbp by Fourier": (
        lambda **o: fp.plan_fbp(SINOGRAMS.shape, method="fourier", **o),
        lambda **o: fp.fbp(SINOGRAMS, method="fourier", **o),
    ),
    "sigma_clip": (lambda **o: fp.plan_sigma_clip(IMAGE.shape, **o), lambda **o: fp.sigma_clip(IMAGE, **o)),
    "threshold": (lambda **o: fp.plan_threshold(IMAGE.shape, **o), lambda **o: fp.threshold(IMAGE, 2.0, **o)),
    "find_sources": (lambda **o: fp.plan_find_sources(SKY.shape, **o), lambda **o: fp.find_sources(SKY, **o)),
}


class Watch:
    """The most the device holds while the block runs, beyond what it held before; sampled as fast as the driver answers."""

    def __init__(self, cupy) -> None:
        self.info = cupy.cuda.runtime.memGetInfo

    def held(self) -> int:
        free, total = self.info()
        return total - free

    def __enter__(self) -> Watch:
        self.before = self.most = self.held()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def sample(self) -> None:
        while not self.over.wait(0.0003):
            self.most = max(self.most, self.held())

    def __exit__(self, *error: object) -> None:
        self.over.set()
        self.thread.join()


def bare(cupy) -> None:
    """Nothing is kept from call to call, here or in the pool that memory is asked of."""
    open_backend("cuda").sync()
    fp.clear_cache()
    cupy.get_default_memory_pool().free_all_blocks()


def budgets(verb: str) -> list[int]:
    """From 0.1 to 100 MB, drawn evenly over their logarithms, one from each half decade."""
    return [int(b) for b in 10 ** (np.arange(5, 8, 0.5) + np.random.default_rng(len(verb)).uniform(0, 0.5, 6))]


@pytest.mark.parametrize("verb", JOBS)
def test_what_is_held_stays_within_the_plan(cuda, verb):
    if verb == "find_sources":
        pytest.importorskip("astropy", reason="astropy is not installed")
    if "VkFFT" in verb:
        pytest.importorskip("pyvkfft.cuda", reason="pyvkfft is not installed for CUDA")
    plan, run = JOBS[verb]
    wanted = run(device="cuda")  # loads kernels and libraries: code is the context's
    fitted = 0
    for budget in budgets(verb):
        try:
            made = plan(memory=budget, device="cuda")
        except fp.BudgetError as error:
            assert error.smallest > budget
            made = plan(memory=error.smallest, device="cuda")
            assert made.footprint.total <= error.smallest
            budget = error.smallest
        else:
            fitted += 1
        size = made.footprint
        assert size.total <= budget
        try:
            run(memory=budget, device="cuda")  # loads what parts alone need
            bare(cuda)
            with Watch(cuda) as watch:
                result = run(memory=budget, device="cuda")
        except fp.BudgetError as error:
            # No plan knows how many sources there are.
            assert verb == "find_sources" and error.smallest > budget
            continue
        finally:
            bare(cuda)
        blocks = len(made.blocks) + (1 if size.library else 0)
        assert watch.most - watch.before <= made.nbytes + size.library + PAGE * blocks, (verb, budget)
        assert watch.held() <= watch.before + PAGE, f"{verb} left memory behind at {budget}"
        if isinstance(wanted, np.ndarray):
            # By the Fourier method tiles and the whole each err by the accuracy at most.
            tiles = "Fourier" in verb and any(cut.axis == "y" for cut in made.cuts)
            within = 2e-4 if tiles else 5e-5
            np.testing.assert_allclose(result, wanted, rtol=0, atol=within * np.abs(wanted).max())
    assert fitted, "no budget drawn was large enough to show anything"


@pytest.mark.parametrize("verb", JOBS)
def test_the_arena_is_exact(cuda, verb):
    if "VkFFT" in verb:
        pytest.importorskip("pyvkfft.cuda", reason="pyvkfft is not installed for CUDA")
    backend = open_backend("cuda")
    asked: list[int] = []
    plan = JOBS[verb][0](device="cuda")
    original = backend.alloc

    def counting(nbytes: int):
        asked.append(nbytes)
        return original(nbytes)

    backend.alloc = counting  # type: ignore[method-assign]
    try:
        with plan.bind(backend):
            assert sum(asked[: len(plan.blocks)]) == plan.nbytes
            assert sum(asked) <= plan.nbytes + plan.footprint.library
    finally:
        del backend.alloc
