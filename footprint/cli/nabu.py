"""A configuration of nabu, in options of ``footprint reconstruct``: what was translated, and what was not and why."""

from __future__ import annotations

import configparser
import os

from footprint.cli.nabu_keys import ITERATIVE, KNOWN, MACHINE
from footprint.cli.nabu_lines import level, rings
from footprint.cli.translate import FALSE, TRUE, Reader, Translation
from footprint.errors import FormatError

SECTIONS = ("dataset", "preproc", "phase", "reconstruction", "output", "postproc", "resources", "pipeline", "about")
_FILTERS = (
    "ramlak", "shepp-logan", "cosine", "hamming", "hann", "tukey", "lanczos", "hilbert", "none",
)  # fmt: skip
_AXES = ("sliding-window", "growing-window")
_MEMORY = (("resources", "memory_fraction"), ("resources", "memory_per_node"))


def is_nabu(path: str) -> bool:
    """Whether a file's name says that nabu wrote it."""
    return path.lower().endswith((".conf", ".cfg", ".ini"))


def read_nabu(path: str) -> Translation:
    """Translate a file.

    Parameters
    ----------
    path
        Of nabu's configuration, sections of ``key = value``.

    Returns
    -------
    Translation
        Every line of the file is in its ``done`` or ``left``.

    Raises
    ------
    FormatError
        Where the file is none.
    """
    from footprint.io.frames import existing_file

    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=("#",), allow_no_value=True)
    try:
        parser.read_string(existing_file(path, "a configuration of nabu").read_text("utf-8"))
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        problem = " ".join(str(error).split())
        raise FormatError(
            path, f"is not a nabu configuration ({problem})", "it has lines such as [dataset] and key = value"
        ) from None
    if not set(parser.sections()) & set(SECTIONS):
        raise FormatError(path, "has no section that nabu knows", f"sections are {', '.join(SECTIONS)}")
    lines = {(section, key): (value or "").strip() for section in parser.sections() for key, value in parser[section].items()}
    reader = Reader(lines)
    for part in (_data, _corrections, _tilt, _phase, level, rings, _slices, _part, _output, _machine):
        part(reader)
    reader.rest(KNOWN, MACHINE)
    return reader.found


def _data(r: Reader) -> None:
    for key, option in (("location", "scan"), ("hdf5_entry", "entry")):
        if r.get("dataset", key):
            r.say(option, r.get("dataset", key), ("dataset", key))
    binned = [r.number("dataset", key) if r.get("dataset", key) else 1.0 for key in ("binning", "binning_z")]
    keys = (("dataset", "binning"), ("dataset", "binning_z"))
    across, down = binned
    if across is None or across != down or across != int(across):
        r.skip("--binning averages squares: it needs whole numbers, the same for binning and binning_z", *keys)
    elif across > 1:
        r.say("binning", int(across), *keys)
    else:
        r.same("as it is here", *keys)
    every, _, first = r.get("dataset", "projections_subsampling").partition(":")
    words = ("dataset", "projections_subsampling")
    if every.isdecimal() and (first or "0").isdecimal() and int(every):
        start = int(first or 0)
        said = f"{int(every)}:{start}" if start else int(every)
        r.say("every", said, words) if said != 1 else r.same("as it is here", words)
    elif every:
        r.skip("--every is N, or N:FIRST", words)
    _excluded(r, ("dataset", "exclude_projections"))
    if r.get("dataset", "overwrite_metadata"):
        r.skip("give --energy, --distance and --pixel-size", ("dataset", "overwrite_metadata"))
    for key in ("flip_lr", "flip_ud"):
        if r.flag("dataset", key) is False:
            r.same("frames are read as they are stored", ("dataset", key))
        elif r.get("dataset", key):
            r.skip("frames are read as they are stored; --flip reverses their columns", ("dataset", key))
    if r.get("reconstruction", "angles_file"):
        r.say("angles", r.get("reconstruction", "angles_file"), ("reconstruction", "angles_file"))


def _excluded(r: Reader, key: tuple[str, str]) -> None:
    """Theirs counts a file's frames, not its projections, and names angles before ``angle_offset``; both ends are included."""
    kind, equals, value = (word.strip() for word in r.get(*key).partition("="))
    if kind and not equals:
        kind, value = "indices", kind
    words = value.translate(str.maketrans("", "", "[]()")).replace(",", ":").replace(" ", "")
    named = {"indices": f"frames={value}", "angles": f"degrees={value}", "angular_range": f"degrees={words}"}
    if kind in named and value:
        r.say("exclude-angles", named[kind], key)
    elif kind:
        r.skip("it is indices=FILE, angles=FILE or angular_range=[a,b]", key)


def _corrections(r: Reader) -> None:
    flat, log = r.flag("preproc", "flatfield"), r.flag("preproc", "take_logarithm")
    keys = (("preproc", "flatfield"), ("preproc", "take_logarithm"))
    if flat is False and log is False:
        r.say("no-log", True, *keys)
    elif False in (flat, log):
        r.skip("--no-log takes neither flats nor the logarithm; one without the other is not available", *keys)
    elif "pca" in r.get("preproc", "flatfield").lower():
        r.skip("flats are interpolated in time, not by principal components", keys[0])
    else:
        if flat or not r.get("preproc", "flatfield"):
            r.say("flat-reduction", "median", keys[0])
        if log:
            r.same("as it is here", keys[1])
    for key, own in (("log_min_clip", 1e-6), ("log_max_clip", 10.0)):
        value = r.number("preproc", key)
        if value is not None:
            (r.same if value == own else r.skip)(f"transmissions are clipped at {own:g} here", ("preproc", key))
    keys = (("preproc", "ccd_filter_enabled"), ("preproc", "ccd_filter_threshold"))
    if r.off(*keys[0]):
        r.same("not asked for", *keys)
    else:
        r.skip("nabu adds the threshold to the median, --zingers multiplies: choose one, such as --zingers 0.04:size=3", *keys)
    if r.get("preproc", "normalize_srcurrent"):
        # Theirs does without where the file has none, as ours does where it is not told.
        words = dict.fromkeys(TRUE) | dict.fromkeys(FALSE, False)
        r.one_of("preproc", "normalize_srcurrent", "machine-current", words, "it is 1 or 0")
    for key in ("autonormalize", "flat_distortion_correction_enabled"):
        if r.off("preproc", key):
            r.same("not asked for", ("preproc", key))
    if r.off("preproc", "flat_distortion_correction_enabled"):
        r.same("not asked for", ("preproc", "flat_distortion_params"))
    if r.get("preproc", "flatfield_loading_mode").lower() in ("load_if_present", "force-compute"):
        r.same("flats and darks are the scan's", ("preproc", "flatfield_loading_mode"))


def _tilt(r: Reader) -> None:
    """Theirs turns frames counter-clockwise, ours is how far the axis leans that way; both about the detector's middle."""
    keys = [("preproc", key) for key in ("tilt_correction", "rotate_projections", "rotate_projections_center", "autotilt_options")]
    scalar, older, center, options = keys
    key = scalar if r.get(*scalar) else older
    word, degrees = r.get(*key).lower(), r.number(*key)
    if not word or degrees == 0:
        r.same("not asked for", *keys)
    elif r.get(*center):
        r.skip("--tilt turns projections about the detector's middle", *keys)
    elif word in ("1d-correlation", "fft-polar"):
        r.say("tilt", "auto", key)
        r.skip("options of a search that is not available here; --tilt auto has its own", options) if r.get(*options) else None
    elif degrees is not None:
        r.say("tilt", -degrees, key)
        r.same("not used where the tilt is given", options)
    else:
        r.skip("--tilt is auto or a number of degrees", *keys)


def _phase(r: Reader) -> None:
    method = r.get("phase", "method").lower()
    keys = [("phase", key) for key in ("method", "delta_beta", "padding_type")]
    material = [("phase", key) for key in ("material_formula", "material_density")]
    if method in ("paganin", "tie"):
        padding = {
            **dict.fromkeys(("", "edge", "edges"), ""),
            **dict.fromkeys(("zeros", "zero", "constant"), ":padding=zeros"),
            **dict.fromkeys(("reflect", "mirror"), ":padding=reflect"),
        }.get(r.get("phase", "padding_type").lower())
        if padding is None:
            r.skip("--phase pads by edge, reflect, symmetric, air or zeros", keys.pop())
        ratio = r.number("phase", "delta_beta") if r.get("phase", "delta_beta") else 100.0
        formula, density = r.get(*material[0]), r.number(*material[1])
        if ratio is not None:
            r.say("phase", f"{ratio:g}{padding or ''}", *keys)
            r.same("not used where delta_beta is a number", *material)
        elif r.get("phase", "delta_beta").lower() == "auto" and formula and density:
            r.say("phase", f"{formula}{padding or ':'}{',' if padding else ''}density={density:g}", *keys, *material)
        else:
            r.skip("--phase needs delta/beta, or FORMULA:density=G_CM3", *keys, *material)
    elif method:
        r.skip("--phase is Paganin's filter", *keys)
    else:
        r.same("not asked for", *keys)
    if method in ("", "paganin", "tie"):
        r.same("not asked for", ("phase", "ctf_geometry"), ("phase", "ctf_advanced_params"), ("phase", "beam_shape"))
    amount, sigma = r.number("phase", "unsharp_coeff") or 0.0, r.number("phase", "unsharp_sigma") or 0.0
    keys = [("phase", key) for key in ("unsharp_coeff", "unsharp_sigma", "unsharp_method")]
    if r.off(*keys[0]) or r.off(*keys[1]):
        r.same("not asked for", *keys)
        return
    method = r.get("phase", "unsharp_method").lower()
    if method == "imagej" and amount < 1:
        amount, method = amount / (1 - amount), "gaussian"
    if amount > 0 and sigma > 0 and method in ("", "gaussian"):
        r.say("unsharp", f"{amount:g}:sigma={sigma:g}", *keys)
    else:
        r.skip("--unsharp takes an amount and the sigma of a Gaussian", *keys)


def _slices(r: Reader) -> None:
    section, why = "reconstruction", "without --method (direct, fourier, sirt, cgls or tv) it is their FBP"
    r.one_of(section, "method", "method", {"fbp": "direct"}, why)
    key = (section, "fbp_filter_type")
    if r.lines.get(key, "ramlak").lower() in ("", "none"):
        # A word of theirs, for once: what is summed is not filtered.
        r.say("filter", "none", key)
    else:
        r.one_of(*key, "filter", {name: name for name in _FILTERS} | {"ram-lak": "ramlak"}, "--filter has no such filter")
    paddings = {"zeros": "constant", "zero": "constant", "edges": "edge", "mirror": "reflect"} | {
        name: name for name in ("constant", "edge", "reflect", "symmetric", "wrap")
    }
    r.one_of(section, "padding_type", "padding", paddings, "--padding is constant, edge, reflect, symmetric or wrap")
    cutoff, axis = r.number(section, "fbp_filter_cutoff"), r.get(section, "rotation_axis_position")
    shape, key = r.get(section, "fbp_filter_type").lower().replace("-", "") or "ramlak", (section, "fbp_filter_cutoff")
    if cutoff is not None and (cutoff == 1 or shape in ("ramlak", "hilbert", "none")):
        r.same("its ramlak has no cutoff" if cutoff != 1 else "as it is here", key)
    elif cutoff is not None:
        r.skip("nabu's window rises again above it; --cutoff passes nothing there: choose", key)
    if r.number(section, "rotation_axis_position") is not None:
        r.say("center", float(axis), (section, "rotation_axis_position"))
        r.same("not used where the axis is given", (section, "cor_options"), (section, "cor_slice"))
    elif axis:
        why = "this search is not available here; --center auto and others are in docs/axis.md"
        r.one_of(section, "rotation_axis_position", "center", {name: name for name in _AXES} | {"centered": "registration"}, why)
    half = {"auto": None, **dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
    r.one_of(section, "enable_halftomo", "half-acquisition", half, "it is auto, 1 or 0")
    if r.flag(section, "clip_outer_circle"):
        r.say("circle", True, (section, "clip_outer_circle"))
    elif r.flag(section, "clip_outer_circle") is False:
        r.same("not asked for", (section, "clip_outer_circle"), (section, "outer_circle_value"))
    offset = r.number(section, "angle_offset")
    if offset is not None:
        key = (section, "angle_offset")
        r.say("angle-offset", offset, key) if offset else r.same("as it is here", key)
    key, all_of_it = (section, "centered_axis"), all(_within(r, name) == (0, None) for name in "xy")
    if r.flag(*key) is False:
        r.same("as it is here", key)
    elif r.flag(*key) is None and r.get(*key):
        r.skip("it is 1 or 0", key)
    elif all_of_it:
        r.say("centered-axis", True, key)
    else:
        # Theirs has the region's size then, and not its place.
        r.skip("nabu puts the middle of the region on the axis: choose --roi for that, with or without --centered-axis", key)
    if r.number(section, "outer_circle_value") == 0:
        r.same("as it is here", (section, "outer_circle_value"))
    if r.get(section, "method").lower() in ("", "fbp"):
        r.same("of another method", *((section, key) for key in ITERATIVE))


def _part(r: Reader) -> None:
    section = "reconstruction"
    ends = {name: _within(r, name) for name in "xyz"}
    for names, option, write in (("z", "rows", _rows), ("xy", "roi", _roi)):
        keys = [(section, f"{end}_{name}") for name in names for end in ("start", "end")]
        if not any(r.get(*key) for key in keys):
            continue
        known = [ends[name] for name in names]
        word = r.get(*keys[0])
        if option == "rows" and word == r.get(*keys[1]) and word in ("first", "middle", "last"):
            r.say(option, word, *keys)
            continue
        if all(pair == (0, None) for pair in known):
            r.same("all of it", *keys)
            continue
        said = write([pair for pair in known if pair is not None]) if None not in known else None
        if said is not None and option == "roi" and "binning" in r.found.table:
            r.skip("--roi counts pixels of the slice, after --binning", *keys)
            continue
        if said is None:
            r.skip(f"counts from the end: give --{option} in numbers, ends excluded", *keys)
        else:
            r.say(option, said, *keys)


def _within(r: Reader, name: str) -> tuple[int, int | None] | None:
    """See `_ends`, of an axis."""
    return _ends(r.get("reconstruction", f"start_{name}"), r.get("reconstruction", f"end_{name}"))


def _ends(start: str, end: str) -> tuple[int, int | None] | None:
    """Where a range begins and, excluded, ends (None: with the last); nabu's end is included. None where it cannot be said."""
    try:
        first, last = (int({"first": "0", "last": "-1"}.get(word.lower(), word)) for word in (start or "0", end or "-1"))
    except ValueError:
        return None
    if first < 0 or last < -1:
        return None
    return first, None if last == -1 else last + 1


def _rows(ends: list[tuple[int, int | None]]) -> str:
    first, last = ends[0]
    return f"{first}:{'' if last is None else last}"


def _roi(ends: list[tuple[int, int | None]]) -> list[int] | None:
    found = [end for pair in ends for end in pair if end is not None]
    return found if len(found) == 4 else None


def _output(r: Reader) -> None:
    folder, prefix, kind = (r.get("output", key) for key in ("location", "file_prefix", "file_format"))
    keys = [("output", key) for key in ("location", "file_prefix", "file_format", "tiff_single_file")]
    scan = r.get("dataset", "location")
    prefix = prefix or (f"{os.path.splitext(os.path.basename(scan))[0]}_rec" if scan else "")
    suffix = {
        "": ".h5",
        "hdf5": ".h5",
        "h5": ".h5",
        "nx": ".h5",
        "tiff": ".tif" if r.flag("output", "tiff_single_file") else "",
        "tif": "",
        "jp2": "",
    }
    if kind.lower() == "jp2":
        r.say("image-format", "jp2", keys[2])
        r.say("output-dtype", "uint16", keys[2])
        if r.get("output", "jpeg2000_compression_ratio"):
            r.skip("nothing is lost; --quality DB loses a little", ("output", "jpeg2000_compression_ratio"))
    if kind.lower() not in suffix:
        r.skip("volumes are .h5, .tif, .zarr or a folder of slices: give --out", *keys)
    elif prefix:
        r.say("out", os.path.join(folder or os.path.dirname(scan), prefix) + suffix[kind.lower()], *keys)
    if r.flag("output", "overwrite_results"):
        r.say("overwrite", True, ("output", "overwrite_results"))
    elif r.flag("output", "overwrite_results") is False:
        r.same("as it is here", ("output", "overwrite_results"))
    if kind.lower() in suffix and kind.lower() != "jp2":
        r.same("of another format", ("output", "jpeg2000_compression_ratio"), ("output", "float_clip_values"))
    if r.flag("postproc", "output_histogram") is False:
        r.same("not asked for", ("postproc", "output_histogram"), ("postproc", "histogram_bins"))


def _machine(r: Reader) -> None:
    key = next((key for key in _MEMORY if r.get(*key)), _MEMORY[0])
    memory = r.get(*key).replace(" ", "")
    if memory:
        amount = r.number(*key)
        given = memory if memory.endswith("%") else f"{memory}GB" if amount is not None else None
        if key == _MEMORY[0] and amount is not None:
            # A share of what is there, and not an amount.
            given = f"{100 * amount:g}%" if 0 < amount <= 1 else None
        r.skip("give --memory", key) if given is None else r.say("memory", given, key)
    numbers = [word for word in r.get("resources", "gpu_id").replace(" ", "").strip("[]").split(",") if word]
    if numbers and all(word.isdecimal() for word in numbers):
        r.say("device", ",".join(f"cuda:{word}" for word in numbers), ("resources", "gpu_id"), ("resources", "gpus"))
    elif r.number("resources", "gpus") == 0:
        r.say("device", "cpu", ("resources", "gpus"))
    elif r.get("resources", "gpus"):
        r.skip("--device auto takes the first GPU; several are --device cuda:*", ("resources", "gpus"))
