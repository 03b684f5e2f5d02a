"""Runs that are killed at any moment go on to the same bits, in every format: amid rows, the journal, and the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest

import footprint as fp
from footprint.io.packing import Packed
from footprint.io.phantom import write_scan
from footprint.io.volume_source import open_volume
from tests.unit.kill_worker import rows_in

ROOT = Path(__file__).resolve().parents[2]
# Of each kind of output.
KILLS = int(os.environ.get("FOOTPRINT_TEST_KILLS", "2"))
OUTPUTS = {
    "plain.h5": {},
    "gzip.h5": {"compression": "gzip"},
    "slices": {},
    "packed.zarr": {"compression": "gzip", "levels": 2},
}
OPTIONS = {"center": 15.5, "method": "direct", "device": "cpu"}


@pytest.fixture(scope="module")
def worker():
    """What runs jobs, each in a process of its own, and kills them."""
    words = [sys.executable, "-m", "tests.unit.kill_worker"]
    environment = os.environ | {"FOOTPRINT_CHECK": ""}
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:

        def ask(**request):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


@pytest.fixture(scope="module")
def scan(tmp_path_factory, worker):
    """A scan, its slices, and the seconds that a run takes which is not disturbed."""
    folder = tmp_path_factory.mktemp("killed")
    path = folder / "scan.nx"
    write_scan(path, n_angles=40, n_z=24, n_x=32)
    words = ["reconstruct", str(path), "-o", str(folder / "v.h5"), "--center", "15.5", "--device", "cpu", "--json", "--resume"]
    # The first is slower: it compiles, and the second finds imported what it has imported.
    seconds = [worker(words=[*words, "--overwrite"], out=str(folder / "printed"))["seconds"] for _ in range(2)][1]
    with fp.open_scan(path) as source:
        return path, fp.reconstruct(source, **OPTIONS), seconds


def a_few(path, packed):
    """A budget that makes some dozen parts."""
    with fp.open_scan(path) as source, pytest.raises(fp.BudgetError) as error:
        fp.plan_reconstruct(source, written=packed if packed.host_bytes("f4") else True, **OPTIONS, memory=1)
    return error.value.smallest + 30_000


@pytest.mark.parametrize("name", OUTPUTS)
def test_killed_at_random_moments(worker, scan, tmp_path, name):
    """A third at any moment, a third when rows are done, a third when all are; and again until so many were killed."""
    path, whole, seconds = scan
    chance, out = random.Random(seed := random.randrange(1 << 30)), tmp_path / "printed"
    (tmp_path / "volumes").mkdir()
    target, journal = tmp_path / "volumes" / name, tmp_path / f"volumes/.{name}.unfinished.done"
    words = ["reconstruct", str(path), "-o", str(target), "--center", "15.5", "--device", "cpu", "--json", "--resume"]
    words += [word for name, value in OUTPUTS[name].items() for word in (f"--{name}", str(value))]
    words += ["--memory", str(a_few(path, Packed(name, whole.shape, OUTPUTS[name])))]

    def completed(code):
        """What is there is the whole, and nothing else but the journal of one that was killed with its name given."""
        left = {item.name for item in target.parent.iterdir()} - {name}
        assert (code == 0 and not left) or (code == -signal.SIGKILL and left <= {journal.name, f"{journal.stem}.job"}), (
            seed,
            code,
            left,
        )
        source, found = open_volume(target), np.empty_like(whole)
        source.frames.read(0, len(whole), slice(0, whole.shape[1]), found)
        source.close()
        np.testing.assert_array_equal(found, whole, err_msg=f"seed {seed}")
        for file in sorted(target.rglob("*"), reverse=True) if target.is_dir() else ():
            file.unlink() if file.is_file() else file.rmdir()
        target.unlink() if target.is_file() else target.rmdir()

    ends = Counter()
    moments = islice(cycle(("rows", "any", "end")), list(OUTPUTS).index(name) % 3, None)
    while ends["killed"] < KILLS:
        moment = next(moments)
        before = rows_in(journal)
        if moment == "rows" and before == len(whole):
            # There are none left to be done.
            completed(worker(words=words, out=str(out))["code"])
            before = 0
        kill = {
            "any": (0, chance.random() * seconds),
            "rows": (before + 1, chance.random() * 0.03),
            "end": (len(whole), chance.random() * 0.06),
        }[moment]
        code = worker(words=words, out=str(out), kill=[str(journal), *kill])["code"]
        ends["killed" if code == -signal.SIGKILL else "through"] += 1
        ends[f"killed {moment}"] += code == -signal.SIGKILL
        ends["named"] += target.exists()
        assert code in (0, -signal.SIGKILL), f"seed {seed}"
        if target.exists():
            completed(code)
    before = rows_in(journal) if (journal.parent / journal.stem).exists() else 0
    ended = worker(words=words, out=str(out))
    assert json.loads(out.read_text())["resumed"] >= before
    completed(ended["code"])
    print(name, dict(ends), f"an undisturbed run takes {seconds:.2f} s")
