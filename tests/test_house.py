"""The house keeps its shape: arrows point down, no cycles, no long files, no vendor named outside its backend."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "footprint"
# What each layer may import, besides itself.
LAYERS = ["facts", "kernels", "backend", "plan", "ops", "api", "io", "dist", "cli"]
FACTS = {"answers", "dtypes", "elsewhere", "errors", "spec", "units", "settings", "__init__"}
SAME_LEVEL = {"io": {"dist"}, "dist": {"io"}}


@functools.cache
def modules() -> dict[str, Path]:
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def imports(path: Path) -> set[str]:
    """Modules of footprint a file imports, hidden imports included, those for type checkers left out."""
    found: set[str] = set()
    tree = parsed(path)
    typing_only = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for node in ast.walk(test)
    }
    known = modules()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("footprint")}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("footprint"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: relative import; write footprint.… in full"
    return found


def layer(module: str) -> str:
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in FACTS:
        return "facts"
    return "cli" if parts[1] == "__main__" else parts[1]


@pytest.mark.parametrize("module", modules())
def test_arrows_point_down(module):
    here = layer(module)
    for target in imports(modules()[module]):
        there = layer(target)
        if here == "reference":
            assert there == "reference", f"{module} imports {target}: a reference imports nothing of footprint but its siblings"
            continue
        assert there != "reference", f"{module} imports {target}: only tests enter reference/"
        allowed = LAYERS.index(there) <= LAYERS.index(here) or there in SAME_LEVEL.get(here, ())
        assert allowed, f"{module} imports {target}: {here} may not know {there}"


def test_no_cycles():
    known = modules()
    graph = {name: {t for t in imports(path) if t in known and t != name} for name, path in known.items()}
    state: dict[str, int] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if state.get(name) == 2:
            return
        assert state.get(name) != 1, "cycle: " + " -> ".join((*trail[trail.index(name) :], name))
        state[name] = 1
        for target in sorted(graph[name]):
            visit(target, (*trail, name))
        state[name] = 2

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("folder", ["footprint", "tests", "benchmarks", "examples"])
def test_no_file_over_400_lines(folder):
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".knl", ".h") and path.is_file():
            assert len(path.read_text().splitlines()) <= 400, path


def test_references_are_short():
    for path in (PACKAGE / "reference").glob("*.py"):
        code = [line for line in path.read_text().splitlines() if line.strip()]
        assert len(code) <= 90, f"{path}: a reference is plain and short"


VENDORS = {"cupy", "cupyx", "pyopencl", "torch", "jax", "jaxlib"}


def vendors_in(tree: ast.AST) -> set[str]:
    """Libraries of devices and of their arrays that code imports, or has the name of as a string."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return {name.partition(".")[0] for name in found} & VENDORS


@pytest.mark.parametrize("part", ["plan", "ops", "api", "cli", "io", "dist", "kernels"])
def test_vendors_are_named_by_backends_only(part):
    for path in sorted((PACKAGE / part).rglob("*.py")):
        assert not vendors_in(parsed(path)), path


def test_the_environment_is_read_in_one_place():
    for path in sorted(PACKAGE.rglob("*.py")):
        names = {n.attr for n in ast.walk(parsed(path)) if isinstance(n, ast.Attribute)}
        assert path.name == "settings.py" or not names & {"environ", "environb", "getenv"}, path


@pytest.mark.parametrize("statement", ["import footprint", "import footprint.plan.fit", "import footprint.cli.main"])
def test_light_imports_load_no_numerical_library(statement):
    heavy = ("numba", "scipy", "astropy", "h5py", "cupy", "pyopencl")
    code = f"import sys; {statement}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_contributing_names_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:api|backend|dist|io|kernels|ops|plan|reference|tests)/[a-z_/]+(?:\.\w+)?)`", text))
    known = {name for name in named if (PACKAGE / name).exists() or (ROOT / name).exists()}
    # What a HIP backend would be.
    assert named - known == {"backend/hip.py"} and len(known) > 40
