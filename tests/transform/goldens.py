"""Golden cases: SQL, the relation before a rule, the relation after it, as text that a person can read and judge.

A file holds the cases of one rule. A case is a title, optionally the rules to run first, the SQL, and the two texts;
`unchanged` in place of the second says that the rule must not apply. `IVM_REWRITE_GOLDENS=1 pytest tests/transform`
rewrites the texts; read the difference before you commit it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
UNCHANGED = "unchanged"
RULE = "----"


@dataclass(frozen=True)
class Case:
    """One case; `first` names the rules that prepare the relation."""

    title: str
    first: tuple[str, ...]
    sql: str
    before: str = ""
    after: str = ""

    def text(self) -> str:
        prepared = [f"after: {', '.join(self.first)}"] if self.first else []
        return "\n".join([f"# {self.title}", *prepared, self.sql, RULE, self.before, RULE, self.after]) + "\n"


def read(path: Path) -> list[Case]:
    """The cases of a file, in order."""
    return [_parsed(block) for block in path.read_text().split("# ")[1:]]


def write(path: Path, cases: list[Case]) -> None:
    path.write_text("\n".join(case.text() for case in cases))


def rewriting() -> bool:
    return os.environ.get("IVM_REWRITE_GOLDENS", "") not in ("", "0")


def settled(path: Path, index: int, case: Case, before: str, after: str) -> Case:
    """The case as the file has it, or, when rewriting, as it is now."""
    after = UNCHANGED if after == before else after
    found = replace(case, before=before, after=after)
    if rewriting() and found != case:
        cases = read(path)
        cases[index] = found
        write(path, cases)
    return found


def _parsed(block: str) -> Case:
    head, *texts = (part.strip("\n") for part in block.split(f"{RULE}\n"))
    title, *rest = head.split("\n")
    first: tuple[str, ...] = ()
    if rest and rest[0].startswith("after: "):
        first = tuple(rest.pop(0).removeprefix("after: ").split(", "))
    before, after = [*texts, "", ""][:2]
    return Case(title, first, "\n".join(rest), before, after)
