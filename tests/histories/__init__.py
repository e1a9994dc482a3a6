"""Every kind of state through all histories up to a bound; see `tests.histories.walk`."""
