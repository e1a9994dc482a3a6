"""Commits that nobody waits for, put into few records: what one costs beside its rows is shared by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

import pyarrow as pa

from ivm.durable.payload import COMMIT, Commit, Given, commit_payload
from ivm.durable.several import Several
from ivm.durable.streams import Streams
from ivm.storage.log import Draft

LARGE = 1 << 14
"""A commit of so many rows has a record of its own."""
_TOGETHER = 1 << 17
"""So many rows are put into one record, or a few more."""


def records_of(handed: Sequence[Commit | Draft], streams: Streams) -> Iterator[tuple[Draft, int]]:
    """Records of commits, and of what is between them, in their order; how many of these each covers.

    Cost: a copy of the rows, some microseconds a commit.
    """
    several = Several()
    for each in handed:
        rows = 0 if isinstance(each, Draft) else sum(given.rows.num_rows for given in each.given)
        if several.commits and (isinstance(each, Draft) or rows >= LARGE or not several.fits(each)):
            yield _of(several, streams), several.commits
            several = Several()
        if isinstance(each, Draft):
            yield each, 1
        elif rows >= LARGE or not several.fits(each):
            yield draft_of(each, streams), 1
        else:
            several.add(each)
            if several.rows >= _TOGETHER:
                yield _of(several, streams), several.commits
                several = Several()
    if several.commits:
        yield _of(several, streams), several.commits


def draft_of(commit: Commit, streams: Streams) -> Draft:
    """The record of a commit."""
    return Draft(COMMIT, commit.time, partial(commit_payload, commit, streams))


def _of(several: Several, streams: Streams) -> Draft:
    one = several.one()
    return draft_of(one._replace(given=[*map(_in_one_piece, one.given)]), streams)


def _in_one_piece(given: Given) -> Given:
    """The same rows in as few batches as there can be, which are few, since each takes its time and its room."""
    if isinstance(given.rows, pa.Table):
        with suppress(pa.ArrowInvalid):  # together their texts are more than the numbers of their dictionaries say
            return given._replace(rows=given.rows.combine_chunks())
    return given
