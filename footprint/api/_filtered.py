"""How convolve and correlate come to an operation, and run it."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footprint.api._arrays import Array, Memory, described, finished, output, receive, shared, shared_memory, where
from footprint.api._call import Described, Stream, call, planned
from footprint.api._mask import has_sum, mask_slot, weights_of
from footprint.api._method import Made, made_by, seen_as
from footprint.api._recall import fresh, looks, recall, remember, replay, values_decide
from footprint.api._sides import ALONE, BESIDE, Beside, arrays_beside, foretold, is_given
from footprint.api._turned import turned, turned_back, turned_spec, where_it_lies
from footprint.api._units import in_unit, is_quantity, plain, refuse_parts, unmasked
from footprint.backend.arrays import NUMPY, kind_of
from footprint.dtypes import COMPLEX, complex_of, floating, sum_dtype
from footprint.errors import ArgumentError, ShapeError, choose
from footprint.kernels.common.borders import border, is_border
from footprint.ops.base import Op
from footprint.ops.complex_sums import ComplexSums
from footprint.ops.convolve import MASKS, MODES, SWAP, Correlate, check_origin
from footprint.ops.known import TREATMENTS, Known
from footprint.ops.of_mask import OfMask
from footprint.ops.overlap_save import METHODS
from footprint.ops.separated import Separated, in_rows, product_of
from footprint.plan.exact import Latest
from footprint.plan.plan import Plan
from footprint.plan.ready import Known as Earlier
from footprint.plan.slots import Given
from footprint.spec import ArraySpec

Axes = tuple[int, ...] | None

# Of the last masks that were taken apart because a call asked for it: what of their values their plans hang on, columns and rows.
_PRODUCTS: Latest[tuple[Any, ...]] = Latest(4)


class Asked(NamedTuple):
    """What a call asks for.

    Attributes
    ----------
    sums, result
        The dtypes that were asked for, "" where none was.
    origin
        As the user counts it, for an axis or each.
    axes
        Along which the image is filtered.
    method, masks
        As the user wrote it.
    """

    mode: str
    boundary: str
    sums: str
    result: str
    nan: str
    origin: tuple[int, ...] = ()
    axes: Axes = None
    method: str = "auto"
    masks: str = "one"

    @property
    def several(self) -> bool:
        """Whether the mask's first axis counts masks."""
        return choose("masks", self.masks, MASKS) != "one"

    def scales(self, beside: Beside) -> bool:
        """Whether results are scaled by the share of the mask's sum that fell on what is known."""
        return self.nan == "interpolate" or (self.nan == "propagate" and is_given(beside))

    @staticmethod
    def of(
        mode: str,
        boundary: str,
        dtype: Any,
        nan: str,
        origin: Any = 0,
        axes: Any = None,
        method: str = "auto",
        masks: str = "one",
        name: str = "dtype",
    ) -> Asked:
        """The same from what the user wrote."""
        for told, word, words in (("mode", mode, MODES), ("nan", nan, TREATMENTS), ("method", method, METHODS)):
            if not isinstance(word, str):
                swapped = told == "mode" and hasattr(word, "shape")
                choose(told, word, words, "the mask comes second; OpenCV's ddepth is dtype=" if swapped else "")
        if mode not in MODES and is_border(mode):
            raise ArgumentError("mode", repr(mode), f"one of {', '.join(MODES)}", f"what lies outside is boundary={mode!r}")
        along = None if axes is None else _whole("axes", axes)
        return Asked(mode, border(boundary), *floating(dtype, name), nan, _whole("origin", origin), along, method, masks)


def _whole(name: str, value: Any) -> tuple[int, ...]:
    """Whole numbers: one, or several in order."""
    if type(value) is int:
        return (value,)
    try:
        return tuple(operator.index(n) for n in (value if isinstance(value, Sequence | np.ndarray) else (value,)))
    except TypeError:
        raise ArgumentError(name, repr(value), "a whole number, or a tuple of them") from None


def last(axes: Axes, n_axes: int) -> tuple[int, ...] | None:
    """The order of axes in which those that are filtered come last; None where it is the array's own."""
    if axes is None:
        return None
    along = [axis + n_axes if axis < 0 else axis for axis in axes]
    if not along or len(set(along)) < len(along) or not all(0 <= axis < n_axes for axis in along):
        span = f", from {-n_axes} to {n_axes - 1}" * bool(n_axes)
        raise ArgumentError("axes", axes, f"different axes of an array of {n_axes}{span}, one for each of the mask's")
    order = (*(axis for axis in range(n_axes) if axis not in along), *along)
    return None if order == tuple(range(n_axes)) else order


def filtered(
    image: Any, mask: Any, flip: bool, words: tuple[Any, ...], cval: Any, beside: Beside, out: Any, memory: Memory, device: str
) -> Any:
    """Filter numbers, and give the result the units of image and mask where they have any.

    ``words`` are the arguments of `Asked.of` as the user wrote them: a call like an earlier one is known by them.
    """
    if type(mask) is list:
        mask = receive(mask, "mask", COMPLEX).data
    # How a mask on the host lies decides whether it has a slot.
    seen = mask
    if type(mask) is np.ndarray:
        # Of several masks each is turned, and their order stays.
        several = type(words[-1]) is str and words[-1] != "one" and mask.ndim
        seen = NUMPY.in_order(mask[::-1] if flip and several else mask, flip, "")
    sides = () if beside[0] is beside[1] is None else tuple(one for one in beside if one is not None)
    look = looks("convolve", (flip, *words, beside[0] is None, cval, memory, device), image, seen, out, *sides)
    known = recall(look)
    found = None
    # Where results are divided by the sum of the mask, the long way says what is wrong with that of this one.
    if known is not None and (words[3] == "ignore" or not (sides or words[3] == "interpolate") or has_sum(mask)):
        found = _again(look, known, image, mask, seen, flip, words[6], cval, out, sides)
    if found is not None:
        return found
    how = Asked.of(*words)
    if type(image) is not np.ndarray:
        refuse_parts(image, "image", "and its .mask as masked=", True)
    data, mask_of_image = (image, None) if type(image) is np.ndarray else unmasked(image)
    if mask_of_image is not None:
        if beside[0] is not None:
            fix = "give image.data and both masks in one"
            raise ArgumentError("masked", "an array, although the image is a masked array", "one of the two", fix)
        image, beside = data, (mask_of_image, beside[1])
    if not (is_quantity(image) or is_quantity(mask)):
        return _run(image, mask, flip, how, number(cval), out, memory, device, beside, look)
    (image, of_image), (mask, of_mask) = plain(image, "image"), plain(mask, "mask")
    unit = of_image * of_mask if of_image is not None and of_mask is not None else of_image if of_mask is None else of_mask
    run = lambda cval, out: _run(image, mask, flip, how, number(cval), out, memory, device, beside)
    return in_unit(unit, of_image, cval, out, run, ("cval", "out"))


def _again(
    look: Hashable,
    known: Earlier,
    image: Any,
    mask: Any,
    seen: Any,
    flip: bool,
    method: Any,
    cval: Any,
    out: Any,
    sides: tuple[Any, ...],
) -> Any | None:
    """The result of a call like an earlier one; None where it has to go the long way."""
    if type(mask) is not np.ndarray:
        seen = kind_of(mask).weights(mask, flip, known.small)
    small: tuple[Any, ...] = (seen,)
    product = None
    if known.product is None:
        # The mask's values decide on the plan.
        if method == "separable":
            which, small = _PRODUCTS.get(mask.tobytes(), look) or (None, small)
        else:
            product = product_of(seen, known.small)
            which = seen_as(product, number(cval))
        decided = recall((look, which))
        if decided is None:
            return None
        if decided.product and product is not None:
            small = in_rows(product, known.small)
        known = decided
    if seen is None:
        return None
    if out is not None:
        # A loop that `any` takes would cost a small call more than what it asks.
        for one in (image, mask, *sides):
            if shared_memory(one, out):
                return None
    target = fresh(known, 0, image) if out is None else out
    if target is None:
        return None
    if known.turns is None:
        return target if replay(known, (image, *small, *sides), (target,)) else None
    first, last = known.turns
    image, *others = (one.transpose(first) for one in (image, *sides))
    return target if replay(known, (image, *small, *others), (target.transpose(last),)) else None


def operation(
    image: ArraySpec,
    mask_shape: Any,
    how: Asked,
    cval: float,
    flip: bool = True,
    complex_mask: bool = False,
    beside: Beside = ALONE,
) -> tuple[Op, ArraySpec]:
    """The operation on an image whose axes to be filtered are its last, and the mask as it wants it."""
    masked, weighed = (one is not None for one in beside)
    sums = how.sums or sum_dtype(image.dtype)
    weights, _ = described(mask_shape, complex_of(sums) if complex_mask else sums, "mask_shape", COMPLEX)
    taps = weights.shape[how.several :]
    if how.axes is not None and len(how.axes) != len(taps):
        fix = 'masks="all" takes its first axis for several masks' if len(how.axes) == len(taps) - 1 else ""
        raise ArgumentError("axes", how.axes, f"{len(taps)} of them, as many as the mask has", fix)
    origin = how.origin * (len(taps) if len(how.origin) == 1 else 1)
    check_origin(origin, taps, how.mode, flip)
    # A convolution's mask is turned, and moves the other way.
    moves = tuple(-n if flip else n for n in origin)
    batch = max(len(image.shape) - len(taps), 0) if how.axes is not None else int(how.masks == "each")
    op = Correlate(taps, how.mode, how.boundary, cval, how.sums, moves if any(moves) else (), batch, how.masks)
    choose("nan", how.nan, TREATMENTS, 'astropy\'s "fill" with 0 is "ignore"' if how.nan == "fill" else "")
    many = complex_mask + (np.dtype(image.dtype).kind == "c")
    if (kind := np.dtype(how.result or sums).kind) == "c" and not many:
        raise ArgumentError("dtype", np.dtype(how.result).name, "a floating dtype for a real image and mask")
    if many:
        if masked or weighed:
            raise ArgumentError("masked" if masked else "weight", "an array", "none for complex numbers", "filter their parts")
        if how.nan != "propagate":
            raise ArgumentError("nan", repr(how.nan), "'propagate' for complex numbers", "filter real and imaginary parts")
        if how.result and kind != "c":
            raise ArgumentError("dtype", np.dtype(how.result).name, "complex64 or complex128 for a complex image or mask")
        return ComplexSums(op, many, not flip and complex_mask), weights
    if masked or weighed:
        return Known(op, how.scales(beside), how.nan == "propagate", masked, weighed), weights
    # Integers are all numbers.
    able = np.dtype(image.dtype).kind == "f" or (how.boundary == "constant" and math.isnan(cval))
    return (op if how.nan == "propagate" or not able else Known(op, how.nan == "interpolate")), weights


def planned_sums(
    shape: Any,
    mask: Any,
    flip: bool,
    how: Asked,
    kinds: tuple[Any, Any],
    cval: Any,
    beside: Beside,
    memory: Memory,
    device: str,
) -> Plan:
    """The plan of such a call, by the mask or its shape alone; ``kinds`` are the dtypes of the image, and of a mask's shape."""
    spec, meets = described(shape, kinds[0], kinds=COMPLEX)
    order = last(how.axes, len(spec.shape))
    if order is not None:
        spec, meets = turned_spec(spec, order), Given(direct=False, order=order)
    given: Array | Stream | Described | None = None
    if hasattr(mask, "shape"):
        given = weights_of(mask, flip, how.sums or spec.dtype, None, how.scales(beside), how.several)
    kind = kinds[1] if given is None else given.spec.dtype
    is_complex = kind is not None and described((), kind, kinds=COMPLEX, of_dtype="mask_dtype")[0].dtype[1] == "c"
    op, weights = operation(spec, mask if given is None else given.spec.shape, how, number(cval), flip, is_complex, beside)
    given = mask_slot(weights) if given is None else given
    image = Described(spec, meets)
    sides = [foretold(name, kind, spec.shape, order) for name, kind in zip(BESIDE, beside) if kind is not None]
    result = _result(op, flip, how, spec, weights, *(s.spec for s in sides))
    made = made_by(how.method, op, spec, given, where(device), memory)
    if (straight := where_it_lies(made.op, order)) is not None:
        made, image = made._replace(op=straight), Described(turned_back(spec, order), Given())
        result, order = turned_back(result, order), None
    into = order if order is None or how.masks != "all" else (0, *(axis + 1 for axis in order))
    target = Described(result, Given(direct=order is None, order=into))
    plan = planned("convolve", made.op, [image, *made.rest, *sides], [target], where(device), memory)
    products = made.op if isinstance(made.op, Separated) else None
    if isinstance(given, Stream) and products is None:
        return plan
    return replace(plan, taken=OfMask(given.spec, weights.dtype, products, how.method == "separable"))


def _result(op: Op, flip: bool, how: Asked, *specs: ArraySpec) -> ArraySpec:
    """The result, in the dtype that was asked for."""
    try:
        return returned(op.out_specs(*specs)[0], how.result)
    except ShapeError as error:
        if flip or error.fix != SWAP:
            raise
        # What is slid over what is the other way round then.
        also = " and conjugate" if isinstance(op, ComplexSums) else ""
        raise ShapeError(error.name, error.got, error.wanted, f"{SWAP}, and reverse{also} the result") from None


def returned(spec: ArraySpec, kind: str) -> ArraySpec:
    """A result of sums in the dtype that was asked for."""
    return ArraySpec(spec.shape, kind) if kind else spec


def number(cval: Any) -> float:
    """What lies outside, as a number."""
    if isinstance(cval, complex | np.complexfloating):
        # Python refuses its own, and of NumPy's drops the imaginary part.
        raise ArgumentError("cval", repr(cval), "a real number")
    try:
        return float(cval)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("cval", repr(cval), "a number") from None


def _run(
    image: Any,
    mask: Any,
    flip: bool,
    how: Asked,
    cval: float,
    out: Any,
    memory: Memory,
    device: str,
    beside: Beside,
    look: Hashable | None = None,
) -> Any:
    natural = receive(image, "image", COMPLEX)
    order = last(how.axes, len(natural.spec.shape))
    source = turned(natural, order)
    given = weights_of(mask, flip, how.sums or source.spec.dtype, source, how.scales(beside), how.several)
    op, wanted = operation(source.spec, given.spec.shape, how, cval, flip, np.dtype(given.spec.dtype).kind == "c", beside)
    more = arrays_beside(beside, natural.spec.shape)
    sides = [turned(one, order) for one in more.values()]
    result = _result(op, flip, how, source.spec, given.spec, *(one.spec for one in sides))
    into = order if order is None or how.masks != "all" else (0, *(axis + 1 for axis in order))
    target = output(out, turned_back(result, into), natural)
    if out is not None:
        # A mask that is read where it lies would change under the sums.
        for name, one in {"image": natural, "mask": given, **more}.items():
            if isinstance(one, Array) and shared(one, target):
                raise ArgumentError("out", f"memory shared with {name}", "memory of its own")
    if target.spec.size:
        sink = turned(target, into)
        place = where(device, source, target, *sides)
        made = made_by(how.method, op, source.spec, given, place, memory)
        if (straight := where_it_lies(made.op, order)) is not None:
            made, source, sink, order = made._replace(op=straight), natural, target, None
        key = call("convolve", made.op, [source, *made.rest, *sides], [sink], place, memory)
        turns = None if order is None or into is None else (order, into)
        _remember(look, key, how, made, Seen(image, mask, given, out, beside), wanted.dtype, target.spec, turns)
    else:
        choose("method", how.method, METHODS)
    return finished(target, out)


class Seen(NamedTuple):
    """The arrays of a call as the user gave them; and the mask as its plan meets it."""

    image: Any
    mask: Any
    given: Array | Stream
    out: Any
    beside: Beside


def _remember(
    look: Hashable, key: str | None, how: Asked, made: Made, seen: Seen, small: str, result: ArraySpec, turns: Any
) -> None:
    """Keep for the next call like this one what it came to, where no more than its arrays would be handled anew."""
    # The sum of each of several masks is asked for anew.
    scaled = how.scales(seen.beside)
    if how.several and scaled:
        return
    # The next mask is only turned and cast where it lies: this one must not have been brought here from elsewhere.
    if not kind_of(seen.mask).turns or not (type(seen.mask) is np.ndarray or kind_of(seen.given.data) is not NUMPY):
        return
    # What is handled beside a mask that is turned or cast is NumPy's alone.
    arrays = [one for one in (seen.image, seen.mask, seen.out, *seen.beside) if one is not None]
    if (scaled or how.several or is_given(seen.beside)) and not all(type(one) is np.ndarray for one in arrays):
        return
    if turns is not None and not all(kind_of(one).strided for one in arrays):
        return
    if how.method == "separable" and look is not None:
        if type(seen.mask) is not np.ndarray:
            return
        assert isinstance(made.op, Separated)
        which = made.op.beyond, made.op.equal
        _PRODUCTS.put(seen.mask.tobytes(), (which, tuple(one.data for one in made.rest)), look)
        values_decide(look, key, small)
        look = (look, which)
    elif made.weighed and look is not None:
        values_decide(look, key, small)
        look = (look, made.product)
    remember(look, key, result, small, product=isinstance(made.op, Separated), turns=turns)
