"""Invariants of state, each broken on purpose, and a kind of state whose short histories find it.

python -m tests.histories.mutations          all of them; 1 if one was not found
python -m tests.histories.mutations index/run.py  those of modules with such a name

Each runs in a process of its own, which reads one module otherwise than it is written; no file is changed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_SECONDS = 300
"""Whoever has not ended by then goes round in circles, which is found too."""


class Mutation(NamedTuple):
    """In this file of `ivm/trace` the text `old`, which is there once, is `new`; the histories of `scope` find it."""

    file: str
    old: str
    new: str
    scope: str


MUTATIONS = [
    Mutation("keyed/groups.py", "undo_cells(block, step.memory, step.after)", "pass", "groups"),
    Mutation("keyed/groups.py", "reader.keep(batch.slot, batch.previous)", "pass", "groups"),
    Mutation("keyed/groups.py", "if self._emptied and not self._readers:", "if self._emptied:", "groups"),
    Mutation("keyed/groups.py", "store.table.rows.length = self.used", "pass", "groups"),
    Mutation("keyed/groups.py", "not self._readers and not len(self)", "not self._readers", "groups"),
    Mutation("keyed/groups.py", "        if self._steps:\n            self._fold(self._last)\n", "", "groups"),
    Mutation("keyed/group_reader.py", "new = new[self._image_of[new] == 0]", "pass", "groups"),
    Mutation("keyed/group_reader.py", "rows[there, self._groups.width + 1 :] = self._images.array[image[there] - 1]", "pass", "groups"),
    Mutation("keyed/round_groups.py", 'found.ints("rank")[order][firsts]', "0", "settled groups"),
    Mutation("index/index.py", "self.block[ASCENDING] = ascending and not cut", "self.block[ASCENDING] = ascending", "keyed table"),
    Mutation("index/index.py", "            self._note((0, words, None, ALL))\n", "            pass\n", "keyed table"),
    Mutation("index/index.py", "            self._insert(alike, ALL, died)\n", "            pass\n", "table with texts"),
    Mutation("index/index.py", "hashed(words), firsts, counts, died)\n", "hashed(words), firsts, np.ones_like(counts), died)\n", "derived rows with texts"),
    Mutation("index/index.py", "and words.item(0) == self._run.last_lead", "and False", "table with texts"),
    Mutation("index/chains.py", "self._put(_over(made, tables.slots))", "self._put(made)", "derived rows with texts"),
    Mutation("index/run.py", "block[FINAL] = min(block.item(FINAL), row)", "pass", "keyed table"),
    Mutation("index/run.py", "block[START] = min(block.item(START), row)", "pass", "keyed table"),
    Mutation("rows/row_store.py", "self._died.array[kills[-1].killed] = ALIVE", "pass", "keyed table"),
    Mutation("rows/row_store.py", "self._deaths = _Deaths(self.dead, [])", "self._deaths = _Deaths(0, [])", "keyed table"),
    Mutation("rows/compaction.py", "        self._to.kill(rows, stamps)", "        pass", "keyed table"),
    Mutation("rows/compaction.py", "            follower.adopt(other)", "            pass", "keyed table"),
    Mutation("ordered/ordered_tree.py", "            undo_rows(*self.arguments, *entry.changes(len(self.kinds)), entry.before)\n", "", "ordered rows"),
    Mutation("ordered/ordered_tree.py", "                reader.note(entry.changes(len(self.kinds)), entry.before, end)", "                pass", "ordered rows"),
    Mutation("ordered/ordered_arrangement.py", "            self.rows = before.rows\n", "", "ordered arrangement"),
    Mutation("ordered/window_tree.py", "                reader.note(entry.before, entry.layout, entry.out)", "                pass", "windows"),
    Mutation("time.py", "first + np.searchsorted(rows, other._rows.view()[begin:end])", "first + np.searchsorted(rows, other._rows.view()[begin:end], side='right')", "keyed table with history of 1 commit"),
    Mutation("rows/row_store.py", "            self.kill(first + dead, stamps[dead])\n\n", "            pass\n\n", "keyed table with history of 1 commit"),
    Mutation("rows/compaction.py", "> stamp(self._since))", "> stamp(self._from.last_time))", "keyed table with history of 1 commit"),
    Mutation("keyed/group_table.py", "            self.parts.length, self.entries.length = partitions, partitions * self.size\n", "", "groups"),
    Mutation("keyed/group_table.py", "named[0] is rows and ", "", "groups"),
    Mutation("answers.py", "                if self._holds:\n                    self._gone[arguments] = found\n", "", "answers"),
    Mutation("answers.py", "or (self._gone.get(arguments) if self._gone else None)", "", "answers"),
    Mutation("answers.py", "if not self._holds and self._gone:", "if self._gone:", "answers"),
    Mutation("answers.py", "            undo.append((arguments, before))\n", "", "answers"),
    Mutation("answers.py", "            if found is not None and not found.rows:", "            if found is not None and found.rows < 0:", "answers"),
    Mutation("answers.py", "                self.known[arguments] = before\n", "                pass\n", "answers"),
    Mutation("answers.py", "            self._undo = []\n", "            pass\n", "answers"),
    Mutation("answers.py", "Answer(rows, tuple(given), value)", "Answer(1, tuple(given), value)", "answers"),
    Mutation("view_log.py", "self.sealed.updates.truncate(max(mark, self.sealed.length))", "pass", "log"),
    Mutation("view_log.py", "merged.append(*old.updates.part(old.length, length), appended)", "pass", "log"),
    Mutation("view_log.py", "old.is_distinct and not appended", "old.is_distinct", "log"),
    Mutation("updates.py", "        mask.fill(True, self.length)", "        mask.skip(self.length)", "log"),
]  # fmt: skip
# What may be broken, and nobody sees it but by the time or the memory that it takes:
# - `AscendingRun.truncate`, LAST_LEAD: the lead of a row that was taken back is no less than the last one's, so that the
#   run is searched for some keys that it cannot have.
# - the same, IN_ORDER: no lead is above ANY_LEAD, so that the run refuses all further rows, and the table takes them.
# - `Chains.lengthen`, `following.skip`: rows behind the length are in no chain; it is for the pages that they get.
# - `Store.block`, `named[2] is parts`, `named[3] is entries`: who does not know that there is more room asks for it again
#   before he writes, and gets a new directory, of which he is told.


class _Changed(SourceFileLoader):
    """Reads a module with one text in place of another."""

    def __init__(self, name: str, path: str, mutation: Mutation) -> None:
        super().__init__(name, path)
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text(encoding="utf-8")
        return compile(source.replace(self._mutation.old, self._mutation.new), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the module of a mutation before anybody else does."""

    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation
        self._name = "ivm.trace." + mutation.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self._name else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Changed(name, spec.origin, self._mutation)
        return spec


def there(mutation: Mutation) -> int:
    """How often its text is there."""
    return (ROOT / "ivm" / "trace" / mutation.file).read_text(encoding="utf-8").count(mutation.old)


def found(mutation: Mutation) -> str | None:
    """What is said of it, None if nothing is wrong."""
    command = [sys.executable, "-m", "tests.histories.mutations", "--walk", str(MUTATIONS.index(mutation))]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode < 0:
        return f"dies of signal {-done.returncode}"
    return (done.stdout or done.stderr).strip().splitlines()[-1] if done.returncode == 1 else None


def _walk(mutation: Mutation) -> int:
    """The short histories, of which one is wrong: 1 if it is."""
    sys.meta_path.insert(0, _Finder(mutation))
    from tests.histories import walks  # what it imports is what is changed

    try:
        walks.short(mutation.scope)
    except AssertionError as error:
        print(str(error).splitlines()[0])
        return 1
    return 0


def main(words: Sequence[str]) -> int:
    """Try them, or walk with one."""
    if words[:1] == ["--walk"]:
        return _walk(MUTATIONS[int(words[1])])
    unfound = 0
    for mutation in MUTATIONS:
        if words and mutation.file not in words:
            continue
        assert there(mutation) == 1, f"{mutation.file} has {mutation.old!r} {there(mutation)} times"
        began, said = time.monotonic(), found(mutation)
        unfound += said is None
        told = "NOT FOUND" if said is None else said[:100]
        print(f"{mutation.file}: {mutation.old.strip()[:60]!r}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if unfound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
