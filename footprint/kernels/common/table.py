"""Finds what a kernel needs by its name: workspace, GPU program, CPU function. Imports only the module asked for."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from footprint.kernels.common.launch import Program
from footprint.spec import ArraySpec, Limits

_PACKAGE = "footprint.kernels"


def _split(kernel: str) -> tuple[str, str]:
    """Folder and function: ``ramp_filter.scale`` is ours, ``package.folder:scale`` an operation's that lives elsewhere."""
    folder, colon, function = kernel.partition(":")
    if colon:
        return folder, function
    folder, _, function = kernel.partition(".")
    return f"{_PACKAGE}.{folder}", function or folder


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return None
        raise


def work_specs(limits: Limits, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> tuple[ArraySpec, ...]:
    """Workspace one launch needs on a device of these limits."""
    if limits.family == "gpu":
        return program(limits, kernel, specs, numbers).work
    folder, function = _split(kernel)
    light = _module(f"{folder}.contract")
    ask = getattr(light, f"{function}_work", None)
    return tuple(ask(limits, *specs, **numbers)) if ask else ()


def state_specs(limits: Limits, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> tuple[ArraySpec, ...]:
    """What one kernel keeps from launch to launch: its contract's ``NAME_state``, on a GPU that of its shapes."""
    folder, function = _split(kernel)
    ask = getattr(_module(f"{folder}.{'gpu' if limits.family == 'gpu' else 'contract'}"), f"{function}_state", None)
    return tuple(ask(limits, *specs, **numbers)) if ask else ()


def program(limits: Limits, kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> Program:
    """The GPU launches of one kernel."""
    folder, function = _split(kernel)
    shapes = importlib.import_module(f"{folder}.gpu")
    return getattr(shapes, f"{function}_program")(limits, *specs, **numbers)


def cpu_function(kernel: str) -> Callable[..., None]:
    """The Numba implementation of one kernel."""
    folder, function = _split(kernel)
    return getattr(importlib.import_module(f"{folder}.cpu"), function)


def cpu_launch(kernel: str, specs: tuple[ArraySpec, ...], numbers: Mapping[str, Any]) -> Callable[..., None]:
    """One kernel with its numbers, for arrays of these specs: by its ``NAME_for``, where there is one, all else is known, too."""
    function = cpu_function(kernel)
    made = getattr(sys.modules[function.__module__], f"{function.__name__}_for", None)
    return functools.partial(function, **numbers) if made is None else made(*specs, **numbers)
