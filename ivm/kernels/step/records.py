"""What a walk is told, and what it tells: records of int64 words, all in one array, the *route*.

A route begins with a head. Everything else in it is found by its place, counted from the route's beginning, so that a
copy of a route is another one. What lies elsewhere is told of by its address.

*Edges* are deltas in flight, the first that which comes in, each next one what the leg before it has made. *Legs* are
what is done, one after the other, each from one edge to the next: a LOOP of a program, a LOOK_UP in an index, a
LOOK_UP_GROUPS, a look-up by a BOUND, or a DELAY. Others are *ends*, which change state: a REDUCE, behind which the edge
tells of the rows that it shows, a SINK, which adds them to the log of a view, or an ARRANGE, which adds them to a
derived collection, and lets them go on. The only one may be a RACE, from which *lines* of legs lead on, one for each
way: all rows go one of them.

What is made lies in the *arena*, memory that Python gives; it stays there. What a leg needs for itself alone it takes
from the arena's end.
"""

from __future__ import annotations

from ivm.kernels.groups.lookup import SEEN
from ivm.kernels.hashing.search import SEARCH
from ivm.kernels.memory.frame import HEAD as LOOP_HEAD
from ivm.kernels.memory.places import SOURCE

(
    LEGS, TABLE, OWN_LEGS, OWN_TABLE, MOST, NONE, ARENA, ARENA_END, REACHED, WANTED, TIME, MARKED, AT, TOLD, CHUNK,
    LISTED,
) = range(16)  # fmt: skip
HEAD = 16
"""How many legs there are, and the place of a table of their places, both of the line that a race has chosen, or the
route's own, which stand behind them; how many rows a look-up finds at once, unless those of one key are more; the `id`
of None; where the arena begins and ends, in bytes, up to where it was needed so far, if nothing were taken from its
end, and how many words it lacks.

Then what is new each time: the time of all rows, if they have one; whether the state of the route's ends is marked, so
that they may change it, and need not ask; the leg to go on with, below zero once all is done;
whether a search has met enough for an index to learn from; the `id` of the array that is the arena from now on, and
that of a list of arrays that the first edge is of, 0 each once that is written down. The list has of each group its
places and its references, then times and diffs, None where there are none. The first edge follows the head."""

FIRST, LENGTH, TIMES, DIFFS, GROUPS = range(5)
"""The words of an edge: the row with which it begins, where it ends, the address of its times, 0 if all have one, and
of its diffs, 0 if all are one. From GROUPS on a source for each group (see `ivm.kernels.memory.places`)."""

LOOP, LOOK_UP, LOOK_UP_GROUPS, REDUCE, DELAY, RACE, BOUND, SINK, ARRANGE = range(9)
KIND, IN, OUT_EDGE, IN_GROUPS = range(4)
"""What all legs begin with: the kind, the places of their edges, how many groups the first of these has."""

(
    LOOP_ADDRESS, CONSTANTS, READ, READS, USED, USES, FURTHER, FILTERS, MADE, OUTPUTS, ROWS, FRAME,
) = range(4, 16)  # fmt: skip
"""A loop's address, 0 of a leg that only lets go of groups, and that of its constants; the place of a list of what it
reads, and how many these are: of each a group, and where its places stand, 0 if the edge tells; the place of a list of
groups that go on, and how many; how many arrays its frame tells of behind what is read; whether it leaves rows out, so
that all groups that go on get references; the place of what it makes, of so many outputs, in so many rows of room; the
place of its frame (see `ivm.kernels.memory.frame`)."""
LOOP_LEG = 16
ROW, ITEM, ITEMS, MASK = range(4)
"""Of an output: its row of the room, the bytes of an item, how many items a value has, and the row of its mask, or -1.
"""
OUTPUT = 4

VALUE, VALUE_COLUMN, ROUND, ROUND_COLUMN, BASE, UNIT, LARGEST = range(LOOP_LEG, LOOP_LEG + 7)
DELAY_LEG = LARGEST + 1
"""Of a delay, which has what a loop without an address has, and makes one output: the group and the number of a value,
and of the round that there is; from which value is counted, and in which unit, 0 if that is not known; whether smaller
values are further from it."""

MATCHES, STARTED, START, ARRANGED, INCLUSIVE, GIVEN, SEEN_EACH, FOUND = range(4, 12)
STORE = FOUND + SEARCH
"""Of a look-up: how many matches a row had lately, in 16ths; whether it has begun with the edge; the row with which the
part begins that is found now; where the words of the arrangement stand (see `step.state`); whether changes at the time
of a row itself are seen; whether Python has told the search of the state; where it stands what each row of the edge
sees, if that is not the same; the search (see `hashing.search`); where the columns of what is found lie."""
LOOK_UP_LEG = STORE + 1
"""Behind it a word for each array that may go along."""

KEY_FORM, KEY_PARTS, KEEPS_KEYS, ALWAYS = range(4, 8)
COLUMNS, AGGREGATES, AGGREGATE_COUNT = range(9, 12)
AGGREGATE_WORDS, SCRATCH, GROUPS_SEEN = range(15, 18)
GROUPS_LEG = GROUPS_SEEN + SEEN
"""Of a look-up of groups, which has INCLUSIVE, MADE, OUTPUTS and ROWS as others have them: the form of the key (see
`hashing.keys`), and its parts; whether a part of the key is made a column; whether a group is there whatever its
multiplicity; how many columns the rows of groups have, made or not; the `id` of the table of aggregates (see
`groups.finalize`), how many these are, and how many words they have; how many words these need for scratch; what is
told of the groups (see `groups.lookup`). Behind it a word for each array that may go along."""
NUMBER, FROM, BEGIN, BYTES, VALID, ENCODED = range(6)
MADE_COLUMN = 6
"""Of what a look-up of groups makes: which column it is; the aggregate, or -1 of a part of the key; its row of the
room, or the byte of a key with which it begins; the bytes of an item; the row of its mask, or -1; of which kind of
values it is the words that compare, INTEGER if those are the values (see `hashing.keys`)."""

(
    BOUND_FORMS, BOUND_PARTS, BOUNDS, BOUND_WORDS, KEYED, VALUE_KIND, COMPARED, CARRIED_FORM, CARRIED_PARTS, CARRIED,
    KINDS, MOST_MET, VISITS, TREE, HEAP, STRINGS, SEEN_LIMIT, SEEN_STAMP, SEEN_DIED, MET_IN,
) = range(9, 29)  # fmt: skip
BOUND_LEG = 29
"""Of a look-up by bounds, which is begun and ended by one call: how key and bound are read (see `hashing.keys`), of so
many parts, for each of one bound or two, how many words that makes, and how many of them are the key's; of which kind a
value is; the comparison, or of two bounds whether each is behind what is equal to it (see `ordered.threshold_join`);
how what decides with them whether changes cancel is read, of so many parts, in so many words; where the kinds of the
tree's words lie (see `ordered.nodes`). For how many rows that are met there is to be room; how many were visited since
somebody asked. Where the `meta` of the tree lies; the `id`s of the dictionary's arrays; which rows are seen: up to
which number, dead behind which stamp, where deaths lie, or 0; where the columns of these rows lie. Behind it a word for
each array that may go along."""

OFFER, REQUEST = 4, 5
"""Of a reduce: where lies what its groups offer (see `groups.offer`), and what is asked of them (see `groups.step`)."""

COLLECTION, READ_AT, READ_COLUMNS, IS_LEFT, LACKS, APPENDED, ADDING_LEG = range(4, 11)
"""Of a sink, and of an arrangement: where what rows are added to tells where it lies (see `memory.updates`, and
`step.state`); where the leg is told of each of so many columns in which group it is read, and under which number there;
whether the rows are for Python; what was lacking, where the leg has asked for it (see `memory.append`, `step.append`);
how many rows it has added."""

WAYS, FEW, WAY, WINNERS, MET, RACE_LEG = range(4, 10)
LINE_LEGS, LINE_TABLE, RACED_ARRANGED, SEARCHING = range(4)
RACED = SEARCHING + SEARCH
"""Of a race: how many ways there are; how many entries of the first are few; the way that all rows go, or -1; where the
way of each row stands; how many entries it has met. Behind it RACED words for each way: of its line what LEGS and TABLE
say of a route; where the words of the arrangement stand that is looked up first (see `step.state`), and the search (see
`hashing.search`), of which FORM, PARTS and WIDTH are filled."""

NO_ARENA, STRIDED, ASKS, ELSEWHERE = -10, -11, -12, -13
"""Why a walk has stopped: the arena is too small, by WANTED words; the first edge has arrays that are not of int64, one
behind the other; Python has to say what state there is, or to make room in it; the rows are for Python, as the STAGE of
a request may say beforehand. What else a leg says, its loop or its search says."""


def edge_words(groups: int) -> int:
    """The length of an edge."""
    return GROUPS + SOURCE * groups


def frame_words(reads: int, further: int, uses: int) -> int:
    """The length of a loop's frame: two words for each array, of which times and diffs are two."""
    return LOOP_HEAD + 2 * (2 * reads + further + uses + 2)
