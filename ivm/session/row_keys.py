"""What tells the rows of a view apart, by what is known of its query."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.analysis.equivalences import equivalences
from ivm.analysis.unique_keys import is_unique, unique_keys
from ivm.catalog.catalog import Catalog
from ivm.catalog.schema import View
from ivm.sql.bind.query import bind


def key_of(view: View, catalog: Catalog) -> tuple[str, ...] | None:
    """Names of columns, as few as there may be, on which no two rows of the view agree; None if none are known.

    None of the names: there is one row at most. Cost: that of reading the view's text.
    """
    relation = bind(view.sql, catalog, zone=view.zone).relation
    known = equivalences(relation)
    seen = {known.representative(place): place for place in reversed(range(len(view.schema)))}
    keys = [sorted(seen[each] for each in key) for key in unique_keys(relation) if all(each in seen for each in key)]
    if not keys:
        return None
    return tuple(view.schema[place].name for place in min(keys, key=lambda key: (len(key), key)))


def is_key(view: View, catalog: Catalog, names: Sequence[str]) -> bool:
    """Whether no two rows of the view agree on the columns of these names."""
    relation = bind(view.sql, catalog, zone=view.zone).relation
    return is_unique(relation, [place for place, field in enumerate(view.schema) if field.name in names])
