"""What a configuration of nabu says of sinograms, in our options."""

from __future__ import annotations

from typing import Any

from footprint.cli.translate import Reader

_RINGS = {"munch": "fw", "vo": "all", "mean-subtraction": "mean", "mean-division": "mean-division"}


def level(r: Reader) -> None:
    """What rows of sinograms are brought to."""
    keys = (("preproc", "sino_normalization"), ("preproc", "sino_normalization_file"))
    method, (file, _, inside) = r.get(*keys[0]).lower(), r.get(*keys[1]).partition("?path=")
    if method in ("", "none"):
        r.same("not asked for", *keys)
    elif method == "chebyshev":
        r.say("sino-normalization", method, *keys)
    elif method in ("subtraction", "division") and file:
        name = f"{file}:/{inside.lstrip('/')}" if inside else file
        r.say("sino-normalization", {"method": method, "file": name}, *keys)
    else:
        r.skip("--sino-normalization is chebyshev, or subtraction or division with a file", *keys)


def rings(r: Reader) -> None:
    """Rings, and the double flat-field, which is one of our ways with them."""
    method, options = r.get("preproc", "sino_rings_correction").lower(), r.get("preproc", "sino_rings_options")
    keys = (("preproc", "sino_rings_correction"), ("preproc", "sino_rings_options"))
    if method in _RINGS:
        given = {
            name.strip(): value.strip() for name, _, value in (item.partition("=") for item in options.split(";")) if name.strip()
        }
        settings = _ring_settings(method, given)
        if settings is None:
            r.skip(f"its options are not those of --rings {_RINGS[method]}", *keys)
        else:
            r.say("rings", {"method": _RINGS[method], **settings}, *keys)
    elif method:
        r.skip("--rings has fw (munch), all (vo), mean and mean-division", *keys)
    else:
        r.same("not asked for", *keys)
    double = "double_flatfield" if ("preproc", "double_flatfield") in r.lines else "double_flatfield_enabled"
    keys = (("preproc", double), ("preproc", "dff_sigma"))
    sigma = r.number("preproc", "dff_sigma") or 0.0
    if r.off("preproc", double):
        r.same("not asked for", *keys)
    elif r.flag("preproc", double) and sigma > 0 and "rings" not in r.found.table:
        # Theirs takes logarithms first where it smooths.
        r.say("rings", {"method": "mean", "sigma": sigma}, *keys)
    elif sigma > 0:
        r.skip("--rings takes one method: choose between this and mean", *keys)
    else:
        r.skip("--rings mean takes off what a Gaussian of sigma does not leave: give dff_sigma", *keys)


def _ring_settings(method: str, given: dict[str, str]) -> dict[str, Any] | None:
    """Settings of --rings, with nabu's defaults; None where they cannot be said."""
    try:
        if method == "munch":
            # Ours are mirrored at their ends, whatever it says.
            given.pop("padding", None)
            found: dict[str, Any] = {
                "sigma": float(given.pop("sigma", 1)),
                "level": int(given.pop("levels", 10)),
                "wavelet": "db15",
            }
            return None if given else found
        if method == "vo":
            given.pop("dim", None)
            sizes = {"size": int(given.pop("la_size", 51)), "small": int(given.pop("sm_size", 21))}
            found = {"snr": float(given.pop("snr", 3)), **sizes}
            return None if given else found
        low, high = (float(n) for n in given.pop("filter_cutoff", "(0, 30)").strip("()[] ").split(","))
    except ValueError:
        return None
    return {"sigma": high} if not given and low == 0 else None
