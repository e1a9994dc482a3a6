"""What a backend answers of which not all rows are here; see `ivm.engine.backend.Backend`."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.plan.renamed import Renaming
from ivm.render.scalars.compiler import Compiler


class NotWhole:
    """Nothing is whole, rendered or held here, and no texts are kept."""

    keeps_unnamed = False
    texts_owed = 0
    compilers: Sequence[Compiler] = ()

    def renamed(self, renaming: Renaming) -> None:
        """See `Backend.renamed`: views are filled again."""

    def whole_table(self, name: str) -> None:
        """See `Backend.whole_table`."""

    def whole_view(self, name: str) -> None:
        """See `Backend.whole_view`."""

    def held(self) -> list[object]:
        """See `Backend.held`."""
        return []

    def tidy_texts(self) -> int:
        """See `Backend.tidy_texts`: none are owed."""
        return 0
