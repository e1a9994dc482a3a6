"""Every kind of state keeps one contract; see `tests.contract.kinds` for how to put another kind to the test."""
