from __future__ import annotations

from ivm.trace.delta import Layout, plain_layout


def test_columns_of_one_source_in_their_order():
    assert plain_layout(3).places == ((0, 0), (0, 1), (0, 2))
    assert plain_layout(3) is plain_layout(3)
    assert plain_layout(0).places == ()


def test_columns_among_others_that_are_not_bound():
    assert plain_layout(2).within(1, 4).places == (None, (0, 0), (0, 1), None)
    assert plain_layout(2).within(0, 2).places == plain_layout(2).places


def test_columns_of_one_more_group():
    joined = plain_layout(1).within(0, 3).bind(1, 1, 2)
    assert joined.places == ((0, 0), (1, 0), (1, 1))
    assert len(joined) == 3


def test_the_same_at_the_next_commit_is_the_same_object():
    layout = Layout([(0, 1), None])
    assert layout.bind(1, 1, 1) is layout.bind(1, 1, 1)
    assert layout.within(0, 5) is layout.within(0, 5)
    assert layout.bind(1, 1, 1) is not layout.bind(2, 1, 1)
    assert layout.places == ((0, 1), None)
