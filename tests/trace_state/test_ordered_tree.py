"""Ordered trees against a sorted list: the same entries, in any direction, from any key, at any place."""

from __future__ import annotations

from functools import cmp_to_key

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.ordered import tree as ordered_tree
from ivm.kernels.ordered import walk as ordered_tree_walk
from ivm.kernels.ordered.batch import TreeBatch
from ivm.kernels.ordered.nodes import FANOUT, LENGTH, LEVELS, NEXT, PREVIOUS, ROOT
from ivm.trace.columns.column import readonly
from ivm.trace.ordered.ordered_tree import ALL_COUNT, AS_THEY_COME, OrderedTree
from ivm.trace.text.dictionary import TextDictionary
from tests.kernels import callable_part

find = callable_part(ordered_tree.find)
copies_before = callable_part(ordered_tree_walk.copies_before)
entry_at = callable_part(ordered_tree_walk.entry_at)
first_entry = callable_part(ordered_tree_walk.first_entry)
following = callable_part(ordered_tree_walk.following)
last_entry = callable_part(ordered_tree_walk.last_entry)
preceding = callable_part(ordered_tree_walk.preceding)

TEXTS = ["", "a", "ab", "b", "é", "abcdefgh", "abcdefghi", "z"]


class World:
    """A tree, and the dict from key to multiplicity that it should be."""

    def __init__(self, kinds, payload=2):
        self.dictionary = TextDictionary()
        self.codes = [self.dictionary.code(text) for text in reversed(TEXTS)]
        self.kinds = np.array(kinds, np.int64)
        self.tree = OrderedTree(self.kinds, payload, self.dictionary)
        self.held = {}

    def compare(self, a, b):
        for x, y, kind in zip(a, b, self.kinds.tolist(), strict=False):
            if x != y:
                first, second = (self.text(x), self.text(y)) if kind else (x, y)
                return (-1 if first < second else 1) * (kind or 1)
        return 0

    def text(self, code):
        return self.dictionary.now().strings(np.array([code], np.int32))[0].encode()

    def ordered(self):
        return sorted(self.held, key=cmp_to_key(self.compare))

    def add(self, changes, near=False, sign=1):
        changes = [(key, diff) for key, diff in changes if diff]
        if near:
            by_key = cmp_to_key(self.compare)
            changes.sort(key=lambda change: by_key(change[0]))
        keys = np.array([key for key, _ in changes], np.int64).reshape(-1, len(self.kinds))
        self.change(keys, np.array([diff for _, diff in changes], np.int64), sign, near)
        for key, diff in changes:
            total = self.held.pop(key, 0) + sign * diff
            if total:
                self.held[key] = total

    def change(self, keys, diffs, sign=1, near=False):
        """Apply changes, for good."""
        order = readonly(np.arange(len(keys))) if near else AS_THEY_COME
        self.tree.add(TreeBatch(readonly(np.ascontiguousarray(keys)), ALL_COUNT, readonly(diffs), order), sign)
        self.tree.seal(0, 0)

    def check(self):
        ordered = self.ordered()
        chunks = list(self.tree.reader().read())
        rows = np.concatenate(chunks) if chunks else np.empty((0, len(self.kinds) + 1), np.int64)
        width = len(self.kinds)
        assert [tuple(row) for row in rows[:, :width].tolist()] == ordered
        assert rows[:, width].tolist() == [self.held[key] for key in ordered]
        assert len(self.tree) == len(self.held)
        check_shape(self.tree)

    def row(self, at):
        return None if at < 0 else tuple(self.tree.arrays[0][at, : len(self.kinds)].tolist())

    def check_seeks(self, key, width):
        ordered, probe = self.ordered(), np.array([key], np.int64)
        at_least = [k for k in ordered if self.compare(k[:width], key[:width]) >= 0]
        beyond = [k for k in ordered if self.compare(k[:width], key[:width]) > 0]
        at_most = [k for k in ordered if self.compare(k[:width], key[:width]) <= 0]
        less = [k for k in ordered if self.compare(k[:width], key[:width]) < 0]
        arguments = self.tree.arguments
        assert self.row(first_entry(arguments, probe, 0, width, False)) == (at_least[0] if at_least else None)
        assert self.row(first_entry(arguments, probe, 0, width, True)) == (beyond[0] if beyond else None)
        assert self.row(last_entry(arguments, probe, 0, width, False)) == (at_most[-1] if at_most else None)
        assert self.row(last_entry(arguments, probe, 0, width, True)) == (less[-1] if less else None)
        at, there = find(arguments, probe, 0, True)
        assert there == (key in self.held)
        if self.held and self.tree.payload > 1:
            before = sum(self.held[k] for k in ordered if self.compare(k, key) < 0)
            assert copies_before(arguments) == before
        if there:
            assert self.row(at) == key
            place = ordered.index(key)
            behind, before = following(arguments, at), preceding(arguments, at)
            assert self.row(behind) == (ordered[place + 1] if place + 1 < len(ordered) else None)
            assert self.row(before) == (ordered[place - 1] if place else None)

    def check_places(self):
        copies = [(k, c) for k in self.ordered() for c in range(self.held[k])]
        arguments = self.tree.arguments
        for place in (-1, 0, len(copies) // 2, len(copies) - 1, len(copies)):
            at, copy = entry_at(arguments, place)
            if 0 <= place < len(copies):
                assert (self.row(at), copy) == copies[place]
            else:
                assert at == -1


def check_shape(tree):
    """Nodes are linked as they stand, none is empty, all leaves lie equally deep, and sums are right."""
    rows, heads, meta = tree.arrays
    if len(tree) == 0:
        assert (meta[ROOT], tree.nodes) == (-1, 0)
        return
    level, seen = [int(meta[ROOT])], 0
    for height in range(int(meta[LEVELS]) - 1, -1, -1):
        seen += len(level)
        assert [int(heads[n, NEXT]) for n in level] == [*level[1:], -1]
        assert [int(heads[n, PREVIOUS]) for n in level] == [-1, *level[:-1]]
        below = []
        for node in level:
            assert 0 < heads[node, LENGTH] <= FANOUT
            if height:
                for at in range(node * FANOUT, node * FANOUT + int(heads[node, LENGTH])):
                    child = int(rows[at, -1])
                    if tree.payload > 1:
                        words = len(tree.kinds)
                        total = rows[child * FANOUT : child * FANOUT + heads[child, LENGTH], words].sum()
                        assert rows[at, words] == total
                    below.append(child)
        level = below
    assert seen == tree.nodes


KINDS = st.sampled_from([(0,), (1,), (-1,), (0, 1), (0, -1), (0, 0), (0, 0, 1)])


@st.composite
def histories(draw):
    kinds = draw(KINDS)
    span = draw(st.sampled_from([3, 30, 2000]))
    seed = draw(st.integers(0, 2**32 - 1))
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from(["grow", "shrink", "ascending", "drain", "back"]), st.integers(1, 700)),
            min_size=1,
            max_size=6,
        )
    )
    return kinds, span, seed, steps


def key_of(world, numbers, span):
    codes = world.codes
    return tuple(codes[n % len(codes)] if k else n - span // 2 for n, k in zip(numbers, world.kinds, strict=True))


@settings(deadline=None, max_examples=30)
@given(histories(), st.sampled_from([1, 2]))
def test_a_tree_is_a_sorted_list(history, payload):
    kinds, span, seed, steps = history
    random = np.random.default_rng(seed)
    world = World(kinds, payload)
    for what, count in steps:
        keys = [key_of(world, numbers, span) for numbers in random.integers(0, span, (count, len(kinds))).tolist()]
        if what == "ascending":
            world.add([(key, 2) for key in keys], near=True)
        elif what == "grow":
            world.add([(key, int(d)) for key, d in zip(keys, random.integers(1, 4, count), strict=True)])
        elif what == "back":
            changes = [(key, 1) for key in keys]
            world.add(changes)
            world.add(changes, sign=-1)
        else:
            held = world.ordered()
            some = held if what == "drain" else [held[i] for i in random.permutation(len(held))[:count]]
            world.add([(key, -world.held[key]) for key in some], near=what == "drain")
        world.check()
        for key in keys[:5]:
            for width in range(1, len(kinds) + 1):
                world.check_seeks(key, width)
        if payload > 1:
            world.check_places()
    world.add([(key, -m) for key, m in world.held.items()])
    assert (len(world.tree), world.tree.nodes) == (0, 0)
    assert world.tree.nbytes == 0


@pytest.mark.parametrize("order", ["ascending", "descending", "outside in"])
def test_deep_trees(order):
    world = World((0, 0))
    count = 20_000
    numbers = np.arange(count)
    if order == "descending":
        numbers = numbers[::-1]
    elif order == "outside in":
        numbers = np.stack([numbers[: count // 2], numbers[::-1][: count // 2]], axis=1).reshape(-1)
    world.add([((int(n) // 7, int(n)), 1) for n in numbers])
    assert world.tree.arrays[2][LEVELS] == 3
    world.check()
    world.check_seeks((100, 701), 1)
    if order == "ascending":
        assert world.tree.nodes < count / FANOUT * 1.1
    assert world.tree.nodes < count / FANOUT * 2.2
    world.add([((int(n) // 7, int(n)), -1) for n in numbers if n % 50])
    world.check()
    assert world.tree.nodes < 4 * count / 50 / FANOUT * 1.5 + 3
    used = world.tree.nbytes
    world.add([((n, n), 1) for n in range(10_000)])
    assert world.tree.nbytes == used, "nodes are used again"
    world.check()


def test_memory_follows_contents_where_a_window_moves():
    world = World((0,))
    for step in range(50):
        world.add([((step * 1000 + n,), 1) for n in range(1000)])
        if step:
            world.add([((step * 1000 - 1000 + n,), -1) for n in range(1000)])
    world.check()
    assert world.tree.nbytes < 3 * 2000 * 24 * 2


def test_keys_in_order_visit_a_leaf_each():
    world = World((0, 0))
    keys = np.stack([np.zeros(50_000, np.int64), np.arange(50_000)], axis=1)
    world.change(keys[::2], np.empty(0, np.int64), near=True)
    visited = world.tree.visited
    world.change(keys[1::2], np.empty(0, np.int64), near=True)
    assert world.tree.visited - visited < 1.2 * 25_000


def test_leaves_that_were_filled_together_share_what_comes():
    world, count = World((0, 0)), 20_000
    world.add([((n * 2, 0), 1) for n in range(count)], near=True)
    full = world.tree.nodes
    random = np.random.default_rng(1)
    come, gone = random.permutation(count).tolist(), random.permutation(count).tolist()
    for begin in range(0, count, 500):
        stretch = slice(begin, begin + 500)
        world.add([((n * 2 + 1, 0), 1) for n in come[stretch]] + [((n * 2, 0), -1) for n in gone[stretch]])
        assert world.tree.nodes < 1.5 * full, "all would split in halves"
    world.check()
