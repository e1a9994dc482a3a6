"""Faults: what is raised at any line leaves everything as it was before, or as it is after. See `harness`."""
