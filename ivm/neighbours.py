"""Sees that `catalog` and `sql` are the packages that come with `ivm`, before anything is imported from them.

Applications have modules of such names, too, and theirs come first where they lie in the working directory. What would
follow is an ImportError in the midst of the engine, about a name that nobody knows.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def check() -> None:
    """Raise ImportError, with the file that stands in the way, if a name leads to another module than ours."""
    folder = Path(__file__).resolve().parent.parent
    for name in ("catalog", "sql"):
        found = _place(name)
        if found != folder / name / "__init__.py":
            other = found or "a module without a file"
            raise ImportError(
                f"cannot import ivm: its package {name!r} is hidden by {other}, which this program finds first "
                "under that name; rename that module, or take its folder off sys.path",
                name=name,
            )


def _place(name: str) -> Path | None:
    """The file that `import name` runs, or has run."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None)
    else:
        spec = find_spec(name)
        file = spec.origin if spec else None
    return Path(file).resolve() if file else None


check()
