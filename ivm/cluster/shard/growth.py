"""Work that goes on bit by bit, whenever somebody has time for it."""

from __future__ import annotations

from math import inf
from time import perf_counter

from ivm.catalog.errors import StorageError
from ivm.dataflow.bits import Bits


class Growth:
    """Some work, and how it has ended if it has: nobody hears of an error before `finish`."""

    def __init__(self, work: Bits[None]) -> None:
        self._work = work
        self._error: Exception | None = None
        self.is_over = False
        """Whether all is done, or has failed."""

    def advance(self, seconds: float) -> int:
        """Go on for about so long; the rows that were read for it. Where this is interrupted, the work has failed."""
        rows, until = 0, perf_counter() + seconds
        try:
            for read in self._work:
                rows += read
                if perf_counter() >= until:
                    return rows
            self.is_over = True
        except Exception as error:  # noqa: BLE001  whoever asks for the end of it is told
            self.is_over, self._error = True, error
        except BaseException:
            self.is_over = True
            self._error = StorageError("cannot go on with a view whose filling was interrupted; create it again")
            raise
        return rows

    def finish(self) -> None:
        """Do all that is left. Raises what the work raised, each time."""
        self.advance(inf)
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Do no more of it. It may be interrupted, and called again."""
        self._work.close()
