"""Footprint: scientific image processing that knows its memory footprint before it runs and never exceeds it."""

from __future__ import annotations

# What type checkers see; the program must stop politely at Ctrl-C from its first line on, so nothing is loaded here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

# Public name -> module that holds it. Looked up at first use, so that importing footprint, and the command line's help,
# load no numerical library.
_HOME = {
    "ArgumentError": "errors",
    "BackendError": "errors",
    "BudgetError": "errors",
    "CapacityError": "errors",
    "FootprintError": "errors",
    "FormatError": "errors",
    "ShapeError": "errors",
    "Plan": "plan.plan",
    "plan_correlate": "api.convolve",
    "plan_convolve": "api.convolve",
    "convolve_rows": "api.convolve_rows",
    "plan_convolve_rows": "api.convolve_rows",
    "convolve_frames": "api.stream",
    "plan_convolve_frames": "api.stream",
    "correlate": "api.convolve",
    "convolve": "api.convolve",
    "match_beam": "api.match_beam",
    "plan_match_beam": "api.match_beam",
    "pad": "api.pad",
    "plan_pad": "api.pad",
    "gaussian_filter": "api.gaussian_filter",
    "plan_gaussian_filter": "api.gaussian_filter",
    "uniform_filter": "api.gaussian_filter",
    "sobel": "api.edges",
    "plan_sobel": "api.edges",
    "laplace": "api.edges",
    "plan_laplace": "api.edges",
    "gaussian_laplace": "api.edges",
    "plan_gaussian_laplace": "api.edges",
    "unsharp_mask": "api.edges",
    "plan_unsharp_mask": "api.edges",
    "plan_uniform_filter": "api.gaussian_filter",
    "median_filter": "api.rank_filter",
    "plan_median_filter": "api.plan_rank_filter",
    "rank_filter": "api.rank_filter",
    "plan_rank_filter": "api.plan_rank_filter",
    "percentile_filter": "api.rank_filter",
    "plan_percentile_filter": "api.plan_rank_filter",
    "minimum_filter": "api.rank_filter",
    "plan_minimum_filter": "api.plan_rank_filter",
    "maximum_filter": "api.rank_filter",
    "plan_maximum_filter": "api.plan_rank_filter",
    "muladd": "api.muladd",
    "plan_muladd": "api.muladd",
    "vertical_shift": "api.vertical_shift",
    "plan_vertical_shift": "api.vertical_shift",
    "create_image": "io.image",
    "create_volume": "io.volume",
    "join_volumes": "io.join",
    "open_image": "io.image",
    "open_scan": "io.scan",
    "read_catalog": "io.catalog",
    "write_catalog": "io.catalog",
    "plan_sigma_clip": "api.sigma_clip",
    "sigma_clip": "api.sigma_clip",
    "plan_threshold": "api.threshold",
    "threshold": "api.threshold",
    "plan_label": "api.label",
    "label": "api.label",
    "plan_measure": "api.measure",
    "measure": "api.measure",
    "apertures": "api.apertures",
    "plan_apertures": "api.apertures",
    "measure_at": "api.measure_at",
    "plan_measure_at": "api.measure_at",
    "background": "api.background",
    "plan_background": "api.background",
    "plan_find_sources": "api.find_sources",
    "find_sources": "api.find_sources",
    "backproject": "api.backproject",
    "fbp": "api.fbp",
    "plan_backproject": "api.backproject",
    "plan_project": "api.project",
    "project": "api.project",
    "plan_sirt": "api.iterative",
    "sirt": "api.iterative",
    "plan_cgls": "api.iterative",
    "cgls": "api.iterative",
    "plan_tv": "api.iterative",
    "tv": "api.iterative",
    "plan_ramp_filter": "api.ramp_filter",
    "ramp_filter": "api.ramp_filter",
    "plan_fbp": "api.fbp",
    "verify": "api.verify",
    "plan_reconstruct": "api.reconstruct",
    "reconstruct": "api.reconstruct",
    "plan_try_axes": "api.try_axes",
    "try_axes": "api.try_axes",
    "select": "api.select",
    "value_range": "api.value_range",
    "plan_rotation_axis": "api.rotation_axis",
    "rotation_axis": "api.rotation_axis",
    "axis_by_row": "api.axis_by_row",
    "find_tilt": "api.find_tilt",
    "paganin": "api.paganin",
    "plan_paganin": "api.paganin",
    "plan_untilt": "api.untilt",
    "untilt": "api.untilt",
    "plan_remove_zingers": "api.remove_zingers",
    "remove_zingers": "api.remove_zingers",
    "plan_remove_stripes": "api.remove_stripes",
    "remove_stripes": "api.remove_stripes",
    "steps": "api.steps",
    "devices": "backend.registry",
    "stream": "api.stream",
    "cache_info": "plan.ready",
    "clear_cache": "plan.ready",
    "estimate_max_chunk_size": "api.estimate",
    "estimate_required_memory": "api.estimate",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module(f"footprint.{_HOME[name]}"), name)
        if not isinstance(value, type):
            from footprint.answers import answering

            # By name, as all that the package's front opens: what stands behind it is not its business.
            door = importlib.import_module("footprint.dist.door") if _HOME[name].startswith("api.") else None
            value = answering(value) if door is None else answering(value, taker=door.taker(name), words=door.words(name))
        globals()[name] = value
        return value
    import sys

    from footprint.elsewhere import ABSENT, HERE, MODULES

    fix = f"; call footprint.{HERE[name]}" if name in HERE else ""
    if name in ABSENT:
        fix = f"; what {ABSENT[name]} calls so is not offered here"
    elif name in MODULES:
        fix = "; its functions are in footprint itself, as footprint.gaussian_filter is"
    # With name and module Python itself proposes what is spelt alike.
    raise AttributeError(f"module 'footprint' has no attribute {name!r}{fix}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
