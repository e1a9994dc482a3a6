"""What holds for every test."""

from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, settings

from ivm.nesting import MOST_FRAMES

# Never a deadline: the first call of a kernel compiles it. The same examples every time, so that a change which breaks
# a test is the change that broke it; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", parent=settings.get_profile("default"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# As the first statement of a database would raise it; hypothesis does not like that within a test.
sys.setrecursionlimit(MOST_FRAMES)
