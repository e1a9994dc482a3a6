"""A process that does nothing but serve: what it sets for itself, which an application's process is not to find set."""

from __future__ import annotations

import gc
import os
import sys

ENVIRONMENT = {"MIMALLOC_PURGE_DELAY": "0", "MALLOC_MMAP_THRESHOLD_": "131072"}
"""What allocators are to find: what is freed goes back to the system at once, from 128 KiB on where it is not Arrow's
(see `keep_freed_pages`). Threads that come and go each leave pages behind otherwise, two to three times as much as is
in use, and arrays that grow leave gaps. Commits of 100,000 rows pay for that, which come seldom by a door.
"""
_TURN_SECONDS = 5e-4
"""After so long a thread lets others have the interpreter, a tenth of what Python does by itself: a commit takes less
than that, and would wait for who plans a view or writes out many rows.
"""


def begin_process() -> None:
    """Before anything is opened, and before Arrow is loaded. What the environment says counts more."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    sys.setswitchinterval(_TURN_SECONDS)


def keep_what_is_there() -> None:
    """Once all is open: to look for garbage in what stays would take tens of milliseconds, of some commit."""
    gc.collect()
    gc.freeze()
