"""One image, or a cube plane by plane, to its catalogue, label image and picture: what ``footprint sources`` does for a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from footprint import __version__
from footprint.cli.beside import Beside
from footprint.cli.extensions import stem_of, tell_extension
from footprint.cli.render import Reporter
from footprint.cli.sources_at import LEVEL, few_pixels, load_at, measured_at
from footprint.cli.sources_maps import level_of
from footprint.cli.sources_planes import Empty, check_noise, planes_of, stacked
from footprint.errors import ArgumentError, ShapeError
from footprint.io.kinds import called

# Options that bring kernels of their own, loaded before anything is measured.
_LOADED = (
    "device",
    "deblend",
    "fit",
    "residual",
    "pairs",
    "apertures",
    "annulus",
    "kron",
    "windowed",
    "reliability",
    "matched_filter",
)
_FOLDERS = {
    "out": "",
    "segmentation": ".fits",
    "png": ".png",
    "report": ".html",
    "save_background": "_background.fits",
    "save_noise": "_noise.fits",
    "save_model": "_model.fits",
    "save_residual": "_residual.fits",
    "negatives": "_negatives",
}


@dataclass(frozen=True)
class Job:
    """Files of one image.

    Attributes
    ----------
    image
        The file.
    plane
        A number; "all", or numbers and ranges; None for the only one.
    out, segmentation, png, report, save_background, save_noise, save_model, save_residual, negatives
        What is written; None for nothing.
    mask, weight
        Files that tell where there is no data.
    background_map, noise_map
        Files of background and noise, or numbers.
    at
        A catalogue whose places are measured; None where sources are found.
    measure_on
        Files that what is found is measured on, as FILE or NAME=FILE.
    """

    image: str
    plane: int | str | None = None
    out: str | None = None
    segmentation: str | None = None
    png: str | None = None
    report: str | None = None
    mask: str | None = None
    weight: str | None = None
    background_map: str | None = None
    noise_map: str | None = None
    save_background: str | None = None
    save_noise: str | None = None
    save_model: str | None = None
    save_residual: str | None = None
    negatives: str | None = None
    at: str | None = None
    measure_on: tuple[str, ...] = ()

    @property
    def outputs(self) -> dict[str, str | None]:
        """Files that are written, by their options."""
        return {_word(option): getattr(self, option) for option in _FOLDERS}


def jobs_of(images: Sequence[str], outputs: Mapping[str, str | None], suffix: str, **others: Any) -> list[Job]:
    """A job for each image; where an output is a folder, its file has the image's name."""
    made: list[Job] = []
    for image in images:
        files: dict[str, Any] = {}
        for option, name in outputs.items():
            if name == "":
                raise ArgumentError(f"--{_word(option)}", "''", "the name of a file or folder")
            # An image in Zarr is a folder, too.
            folder = name is not None and not called(name, "zarr") and (name.endswith("/") or Path(name).is_dir())
            if name is not None and len(images) > 1 and not folder:
                raise ArgumentError(
                    f"--{_word(option)}",
                    repr(name),
                    f"a folder for the files of {len(images)} images",
                    f"give {Path(name).with_suffix('')}/",
                )
            if name is not None and folder:
                ending = _FOLDERS[option]
                name = str(Path(name) / (stem_of(image) + (ending if "." in ending else f"{ending}.{suffix}")))
            files[option] = name
        made.append(Job(image, **files, **others))
    for option in outputs:
        taken: dict[str | None, str] = {}
        for job in made:
            name = getattr(job, option)
            if name is not None and name in taken:
                raise ArgumentError(
                    f"--{_word(option)}", f"{name} for {taken[name]} and for {job.image}", "images with different names"
                )
            taken[name] = job.image
    return made


def _word(option: str) -> str:
    return option.replace("_", "-")


def make_folders(jobs: Sequence[Job], outputs: Mapping[str, str | None]) -> None:
    """Make the folders that the outputs go to: of several images, and those that were asked for with a slash at the end."""
    folders = [_word(option) for option, name in outputs.items() if name is not None and name.endswith("/")]
    for job in jobs:
        for option, name in job.outputs.items():
            if name is not None and (len(jobs) > 1 or option in folders) and not Path(name).parent.exists():
                Path(name).parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def extra_images(job: Job) -> Iterator[dict[str, Any]]:
    """Mask, weight, maps of background and noise, and other images under ``measure_on``, opened."""
    from footprint.cli.sources_at import open_others
    from footprint.io.image import open_image

    with ExitStack() as stack:
        files = {"mask": job.mask, "weight": job.weight, "background": job.background_map, "noise": job.noise_map}
        found: dict[str, Any] = {}
        for name, file in files.items():
            if file is not None:
                level = level_of(file, name) if name in ("background", "noise") else None
                found[name] = stack.enter_context(open_image(file)) if level is None else level
        yield found | ({"measure_on": open_others(job.measure_on, stack)} if job.measure_on else {})


def _label_header(header: Any) -> Any:
    """A label has no unit, and no beam."""
    if header is None:
        return None
    kept = header.copy()
    for key in ("BUNIT", "BTYPE", "BMAJ", "BMIN", "BPA", "CASAMBM"):
        kept.remove(key, ignore_missing=True, remove_all=True)
    return kept


def asked_for(job: Job) -> dict[str, str | None]:
    """The files of images that a search fills pixel by pixel."""
    names = ("save_background", "save_noise", "save_model", "save_residual")
    return {"labels": job.segmentation} | {name: getattr(job, name) for name in names}


@contextmanager
def sinks(job: Job, planes: int, source: Any, overwrite: bool) -> Iterator[Callable[[int], dict[str, Any]]]:
    """What takes labels, background and noise of a plane, by its place among them; nothing for those that are not wanted."""
    from footprint.dtypes import kernel_dtype

    dtype, header = kernel_dtype(source.dtype.str), source.header if planes == 1 else source.file_header
    special = {"labels": ("int32", _label_header(header))}
    with ExitStack() as stack:
        found = {}
        for name, path in asked_for(job).items():
            if path is not None:
                kind, cards = special.get(name, (dtype, header))
                found[name] = stack.enter_context(_images(path, planes, source.shape, kind, overwrite, cards, _like(source, name)))
        yield lambda number: {name: one(number) for name, one in found.items()}


def _like(source: Any, name: str) -> Any:
    """What an image that is made of one has of it: pixels as large, but no step between planes, of which any may be chosen."""
    from dataclasses import replace
    from types import SimpleNamespace

    scale = source.scale if source.scale is None else replace(source.scale, z=None)
    # Labels are no light: 0 is where none of them is, whatever is white.
    return SimpleNamespace(scale=scale, inverted=source.inverted and name != "labels")


@contextmanager
def _images(
    path: str, planes: int, shape: Any, dtype: str, overwrite: bool, header: Any, like: Any
) -> Iterator[Callable[[int], Any]]:
    from footprint.io.image_writer import create_image, create_stack

    if planes == 1:
        with create_image(path, shape, dtype, overwrite, header, like=like) as image:
            yield lambda number: image
    else:
        with create_stack(path, (planes, *shape), dtype, overwrite, header, like) as stack:
            yield lambda number: _Plane(stack, number)


class _Plane:
    """One plane of a stack that is written by rows."""

    def __init__(self, stack: Any, number: int) -> None:
        self._stack, self._number = stack, number

    def host_bytes(self, dtype: Any) -> int:
        return self._stack.host_bytes(dtype)

    def write(self, rows: slice, block: np.ndarray) -> None:
        self._stack.write((slice(self._number, self._number + 1), rows), block[None])


def run(job: Job, reporter: Reporter, overwrite: bool, warmed: set[str], **options: Any) -> tuple[Any, dict[str, Any]]:
    """Find the sources of a job's planes and write what is wanted; return the table and the report's figures.

    ``warmed`` has the dtypes of images whose kernels are loaded, those of this one's among them when it is through.
    """
    from footprint.cli.log import logged

    # The page is to have what the job warns of, whoever else shows it.
    with logged(None, reporter):
        return _run(job, reporter, overwrite, warmed, options)


def _run(job: Job, reporter: Reporter, overwrite: bool, warmed: set[str], options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    from footprint.io.catalog import write_catalog
    from footprint.io.image import open_image
    from footprint.io.output import together
    from footprint.io.sky_png import write_sky_png

    planes, asked = planes_of(job.image, job.plane), dict(options)
    plans: list[Any] = []
    for option, path in (("png", job.png), ("report", job.report)):
        if path is not None and len(planes) > 1:
            raise ArgumentError(f"--{option}", f"{path} for a cube of {len(planes)} planes", "one plane", "give --plane N")
    tables: dict[int, Any] = {}
    below: dict[int, Any] = {}
    with open_image(job.image, next(iter(planes.values()))) as source, extra_images(job) as extra, together():
        if source.dtype.str not in warmed:
            kinds: dict[str, Any] = {name: options[name] for name in _LOADED if name in options}
            local = options["background"] == "mesh" or bool({"background", "noise"} & extra.keys())
            kinds |= {"background": "mesh" if local else "global", "negatives": job.negatives is not None}
            kinds["others"] = {np.dtype(one.dtype) for one in extra.get("measure_on", {}).values()}
            kinds["drawn"] = [name for name, path in asked_for(job).items() if path is not None]
            reporter.warm(lambda: load(source, **kinds) if job.at is None else load_at(source, kinds))
            warmed.add(source.dtype.str)
        page, budget = page_of(job, source, options)
        options |= extra

        def largest(plan: Any) -> None:
            """One search may take several plans: the report has the one that takes most."""
            plan = plan if page is None else page.joined(plan)
            if not plans or plan.footprint.total > plans[0].footprint.total:
                # One alone: the objects of another would lie beside the search.
                plans[:] = [plan]
                reporter.plan(plan)

        with sinks(job, len(planes), source, overwrite) as sink, reporter.measured(), counting(page, budget):
            for place, (number, plane) in enumerate(planes.items()):
                with open_image(job.image, plane) as image, reporter.progress("finding sources") as progress:
                    told = {"on_plan": largest if place == 0 else None, "progress": progress}
                    try:
                        found = _one(job, image, **sink(place), **told, **options)
                    except Empty as error:
                        # Channels are often flagged: the others have their sources all the same.
                        if place == len(planes) - 1 and not tables:
                            raise
                        reporter.warn(f"{job.image}: plane {number} {error.problem}; it has no rows")
                        continue
                    tables[number], below[number] = found[0], found[-1]
        table, about = _joined(tables, planes), _told(job, planes) | tell_extension(job.image)
        table.meta |= about
        if job.out is not None:
            write_catalog(table, job.out, overwrite)
        if job.negatives is not None:
            other = _joined(below, planes)
            other.meta |= about
            write_catalog(other, job.negatives, overwrite)
        if job.png is not None:
            write_sky_png(source, table, job.png, overwrite)
        shape, unit = ([len(planes)] if len(planes) > 1 else []) + list(source.shape), source.unit
        figures: dict[str, Any] = {name: value for name, value in table.meta.items() if isinstance(value, int | float | str)}
        called = {"out": "catalogue", "negatives": "negatives_catalogue"}
        written = {called.get(name, name.replace("-", "_")): path for name, path in job.outputs.items()}
        figures = {"image": job.image, "shape": shape, "sources": len(table), "unit": unit, **figures}
        figures |= {name: path for name, path in written.items() if path is not None}
        if job.report is not None:
            from footprint.cli.sources_page import write_sources_page

            asked = {"program": f"footprint {__version__}", **asdict(job), **asked, "overwrite": overwrite}
            warned, numbers = reporter.warned, reporter.figures | figures
            write_sources_page(job.report, overwrite, source, table, plans[0], warned, numbers, asked)
    return table, figures


def _joined(tables: Mapping[int, Any], planes: Mapping[int, Any]) -> Any:
    """The only table, or that of all planes."""
    return next(iter(tables.values())) if len(planes) == 1 else stacked(tables)


def _told(job: Job, planes: Mapping[int, Any]) -> dict[str, Any]:
    """What a catalogue says of where it comes from."""
    names = ("image", "mask", "weight", "background_map", "noise_map", "at")
    number, where = next(iter(planes.items()))
    told = {name: getattr(job, name) for name in names} | {"plane": number if len(planes) == 1 and where is not None else None}
    return {name: value for name, value in told.items() if value is not None} | {"creator": f"footprint {__version__}"}


def page_of(job: Job, image: Any, options: dict[str, Any]) -> tuple[Beside | None, int | None]:
    """What the page takes, where there is to be one, taken off the budget in the options; and the budget with it."""
    if job.report is None:
        return None, None
    from footprint.api._arrays import limits_and_budget, where
    from footprint.cli.page import PICTURES
    from footprint.cli.sources_page import page_bytes

    page = Beside(PICTURES, page_bytes(image))
    budget = limits_and_budget(where(options["device"]), options["memory"])[1]
    options["memory"] = page.rest(budget)
    return page, budget


def counting(page: Beside | None, budget: int | None) -> AbstractContextManager[None]:
    """Errors about the budget have the page in them."""
    return nullcontext() if page is None else page.counted(budget)


def _one(job: Job, image: Any, **options: Any) -> tuple[Any, ...]:
    """The table of a plane's sources; and that of its negatives, where that is wanted."""
    from footprint.api.find_sources import find_sources

    try:
        if job.at is not None:
            return (measured_at(job, image, options),)
        options.pop("shapes")
        found = find_sources(image, negatives=job.negatives is not None, **options)
    except ArgumentError as error:
        if error.name != "image":
            raise
        has = "holds" if isinstance(error, ShapeError) else "has"
        raise Empty(job.image, f"{has} {error.got}, wanted {error.wanted}", error.fix) from error
    tables = found if job.negatives is not None else (found,)
    check_noise(job.image, tables[0])
    return tables


def load(source: Any, drawn: Sequence[str] = (), others: Collection[np.dtype[Any]] = (), **kinds: Any) -> None:
    """Load compiled kernels and coordinate libraries with a job of a few pixels: what is measured after is the image's.

    ``drawn`` are images that are made, ``others`` the dtypes of those that are measured on.
    """
    from footprint.api.find_sources import find_sources
    from footprint.api.sigma_clip import sigma_clip
    from footprint.dtypes import kernel_dtype
    from footprint.kernels.common.few import in_threads

    # More than is done on the thread that is here, and less: each has kernels of its own. A filter's sums are quick.
    noise = few_pixels(416 if kinds.get("matched_filter") is None else 1024, source.dtype)
    half_empty = noise[:128, :128].copy()
    half_empty[::2] = LEVEL
    # The clip forecasts well on the one and not on the other, and so has each way.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pixels in (noise, half_empty):
            made: dict[str, Any] = {}
            for name in drawn:
                made[name] = np.empty(pixels.shape, np.int32 if name == "labels" else kernel_dtype(source.dtype.str))
            also = [pixels.astype(kind) for kind in others] or None
            find_sources(pixels, blank="nan", header=source.header, measure_on=also, **made, **kinds)
        # Of a large image all threads sort what is put aside.
        with in_threads():
            sigma_clip(noise, device=kinds.get("device", "auto"))
