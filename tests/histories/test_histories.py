"""All short histories of every kind of state, with every tiny capacity: what returns, is used again, or is at an end.

Errors of such kinds need few keys and few commits, if only all orders of them are tried. Each kind has several walks, of
which half are taken on a day, and the others on the next.
"""

from __future__ import annotations

import pytest

from tests.histories import mutations, walks
from tests.histories.walks import Planned
from tests.more import by_day


@pytest.mark.parametrize("planned", by_day(walks.SHORT, 2), ids=str)
def test_short_histories(planned: Planned) -> None:
    walks.walk(planned)


def test_a_key_whose_rows_are_dead_comes_again_where_the_table_is_full() -> None:
    """Room was made between looking the key up and linking its row: the key was forgotten, and the row its own next."""
    one, other = (0, 0), (0, 1)
    turns = [((one, -1), (other, 1)), ((other, -1), (one, 1))]
    came, went = ((one, 1),), ((other, -1),)
    walks.replay("derived rows with texts", "tiny", [(1, each) for each in (came, *turns, turns[0], went, came)])


@pytest.mark.slow
@pytest.mark.parametrize("planned", walks.LONG, ids=str)
def test_long_histories(planned: Planned) -> None:
    walks.walk(planned)


def test_what_is_broken_on_purpose_is_there() -> None:
    assert [each for each in mutations.MUTATIONS if mutations.there(each) != 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda each: f"{each.file}: {each.old.strip()}")
def test_what_is_broken_on_purpose_is_found(mutation: mutations.Mutation) -> None:
    assert mutations.found(mutation) is not None
