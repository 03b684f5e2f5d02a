"""A process that has imported what jobs import and done nothing: each job runs in a fork of it, a fresh process a second sooner.

It reads lines, each a JSON list of ``verb budget`` or of a reader and its words, and answers with the job's line and one that
says how it ended.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback

import astropy.io.fits
import astropy.table
import h5py
import hdf5plugin
import numba
import scipy.fft
import scipy.ndimage
import tifffile

from tests.memory import jobs
from tests.memory.readers import READERS, have_code

LOADED = (astropy.io.fits, astropy.table, h5py, hdf5plugin, numba, scipy.fft, scipy.ndimage, tifffile)
_SECONDS = 300


def main() -> None:
    # A fork has none of the libraries' pages in its maps. Python's collector would walk all their types, 1.5 MB that a process
    # which imported them has had all along.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            signal.alarm(_SECONDS)
            try:
                verb, *words = json.loads(line)
                if verb in READERS:
                    have_code()
                    READERS[verb](*words)
                else:
                    jobs.main(verb, *words)
            except Exception:
                traceback.print_exc(file=sys.stdout)
                sys.exit(1)
            return
        _, status = os.waitpid(child, 0)
        print(json.dumps({"ended": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
