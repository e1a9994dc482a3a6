"""How somebody wants to be told of changes."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.subscriptions.backlog import WhenFull
from ivm.subscriptions.forms import FormName


@dataclass(frozen=True, slots=True)
class Wish:
    """How somebody wants to be told of changes.

    `commits` and `seconds`: at most once in so many, as `every` says. `limit`: how much may wait, in commits.
    """

    form: FormName = "changes"
    commits: int = 0
    seconds: float = 0.0
    progress: bool = False
    limit: int = 1000
    when_full: WhenFull = "coalesce"

    @property
    def is_rare(self) -> bool:
        """Whether changes wait for others to be told together."""
        return bool(self.commits or self.seconds)
