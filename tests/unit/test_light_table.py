"""Catalogues are astropy Tables to whoever asks, and made only then."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from astropy.table import QTable, Row, Table, hstack, vstack

from footprint.api import _table
from footprint.api._columns import meaning
from footprint.api._table import Catalogue, Columns

ROOT = Path(__file__).resolve().parents[2]


def made():
    """A catalogue, and what astropy makes of the same."""
    data = {"label": np.arange(1, 6, dtype=np.int32), "flux": np.arange(5.0)[::-1].copy(), "name": np.full(5, b"J0")}
    meta = {"noise": 0.5, "blanks": "nan"}
    light = Columns(dict(data), {"flux": "Jy"}, {"flux": "the sum"}, dict(meta)).table()
    said = {name: meaning(name).description for name in ("label", "name")}
    table = Table(data, units={"flux": "Jy"}, descriptions=said | {"flux": "the sum"}, meta=meta)
    assert type(light) is Catalogue
    return light, table


def written(table):
    text = io.StringIO()
    table.write(text, format="ascii.ecsv")
    return text.getvalue()


def changed(table, change):
    change(table)
    return table


QUESTIONS = {
    "repr": repr,
    "str": str,
    "format": lambda t: f"{t}",
    "bytes": bytes,
    "html": lambda t: t._repr_html_().replace(str(id(t)), ""),
    "column": lambda t: t["flux"],
    "unit": lambda t: t["flux"].unit,
    "columns": lambda t: t["flux", "label"],
    "row": lambda t: t[1].as_void(),
    "slice": lambda t: t[1:3],
    "mask": lambda t: t[t["flux"] > 1],
    "rows": lambda t: [row["label"] for row in t],
    "equal": lambda t: t == t.copy(),
    "unequal": lambda t: t != t.copy(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "state": lambda t: t.__getstate__()[1],
    "reduce": lambda t: t.__reduce_ex__(4)[0].__name__,
    "array": lambda t: np.asarray(t),
    "dir": dir,
    "write": written,
    "Table": Table,
    "QTable": QTable,
    "type": lambda t: type(t)({"x": [1, 2]}),
    "vstack": lambda t: vstack([t, t]),
    "hstack": lambda t: hstack([t, t]),
    "or": lambda t: t | Table({"more": [1, 2, 3, 4, 5]}),
    "sort": lambda t: changed(t, lambda t: t.sort("flux")),
    "add": lambda t: changed(t, lambda t: t.__setitem__("more", 1)),
    "remove": lambda t: changed(t, lambda t: t.__delitem__("flux")),
    "meta": lambda t: changed(t, lambda t: setattr(t, "meta", {"a": 1})).meta,
    "attribute": lambda t: changed(t, lambda t: setattr(t, "mine", 1)).mine,
    "rename": lambda t: changed(t, lambda t: t.rename_column("flux", "sum")),
    "info": lambda t: t.info(out=None)["name"],
    "nothing": lambda t: hasattr(t, "nothing"),
}


def same(a, b):
    if isinstance(a, Table):
        assert type(a) is type(b) and a.colnames == b.colnames and a.meta == b.meta
        assert all(column.parent_table is a and column.info.name == name for name, column in a.columns.items() if type(a) is Table)
        assert all(a[name].unit == b[name].unit and a[name].info.description == b[name].info.description for name in a.colnames)
        return all(np.array_equal(a[name], b[name]) for name in a.colnames)
    return type(a) is type(b) and bool(np.all(a == b))


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_answers_as_a_table(question):
    light, table = made()
    assert same(QUESTIONS[question](light), QUESTIONS[question](table))
    assert question == "type" or (type(light) is Table and not {"_columns", "_lock"} & vars(light).keys())


def test_little_is_answered_without_a_table():
    light, table = made()
    meta = light.meta
    meta["more"] = 1
    assert len(light) == 5 and light and light.colnames == table.colnames
    assert isinstance(light, Table) and not isinstance(light, Row)
    assert len(Columns({}).table()) == 0
    with pytest.raises(TypeError, match="unhashable"):
        hash(light)
    assert type(light) is Catalogue
    flux = light["flux"]
    assert light.meta is meta and len(light) == 5 and light.colnames == table.colnames and light.columns["flux"] is flux
    assert light.__class__ is Table and isinstance(light, Table) and flux.parent_table is light


def test_nothing_python_asks_of_a_type_is_missed():
    """What tables answer by methods with underscores goes past __getattr__."""
    plain = {"dict", "doc", "init", "module", "weakref", "setstate", "annotations", "static_attributes", "firstlineno"}
    asked = {name for kind in Table.__mro__[:-1] for name in vars(kind) if name.startswith("__")} - {f"__{n}__" for n in plain}
    assert asked <= vars(Catalogue).keys(), asked - vars(Catalogue).keys()


def test_threads_that_ask_at_once_see_one_table():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            light, _ = made()
            meta, gate, found = light.meta, threading.Barrier(4), []

            def ask(light=light, gate=gate, found=found):
                gate.wait()
                found.append((isinstance(light, Table), light.meta, light["flux"], len(light), light.colnames))

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            assert len(found) == 4
            for kind, told, flux, count, names in found:
                assert kind and told is meta and flux is light["flux"] and count == 5 and names == light.colnames
    finally:
        sys.setswitchinterval(interval)


def test_a_thread_that_makes_the_table_while_another_asks_what_it_is(monkeypatch):
    light, _ = made()

    class Between:
        def get(self, name):
            light["flux"]
            return sys.modules[name]

    monkeypatch.setattr(_table, "sys", SimpleNamespace(modules=Between()))
    assert isinstance(light, Table)
    assert type(light) is Table


def test_what_stops_the_making_can_be_followed_by_another(monkeypatch):
    light, table = made()

    class Stopped(Table.TableColumns):
        def __init__(self, columns=()):
            assert not columns

    with monkeypatch.context() as patch:
        patch.setattr(Table, "TableColumns", Stopped)
        with pytest.raises(AssertionError):
            light["flux"]
    assert type(light) is Catalogue and len(light) == 5
    assert light["flux"].parent_table is light and same(light, table)


_FRESH = """
import sys
import numpy as np
import footprint as fp
image = np.random.default_rng(0).standard_normal((64, 64))
image[20:23, 30:33] += 50
found = fp.find_sources(image, device="cpu")
known = fp.measure(image, (image > 20).astype(int), device="cpu")
summed = fp.apertures(image, [(31, 21)], [3], device="cpu")
assert len(found) == len(known) == len(summed) == 1 and found.meta["sigma"] == 5 and not isinstance(found, np.ndarray)
print([name for name in sys.modules if name.startswith("astropy")])
from astropy.table import Table, vstack
assert all(isinstance(table, Table) for table in (found, known, summed))
assert len(vstack([found, known])) == 2 and type(summed.copy()) is type(known) is Table
sky = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRVAL1": 10.0, "CDELT1": -1e-3, "CDELT2": 1e-3, "BMAJ": 4e-3, "BMIN": 4e-3}
assert {"ra", "flux_err"} < set(fp.find_sources(image, header=sky, device="cpu").colnames)
assert "scipy.special" not in sys.modules
"""


def test_a_catalogue_needs_no_astropy():
    done = subprocess.run([sys.executable, "-c", _FRESH], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
