"""A database as the statements of a transaction see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import TransactionError
from ivm.durable.payload import Batch
from ivm.engine.transaction import Change
from ivm.session.core import Core
from ivm.session.pending import Pending
from ivm.session.publishing import publish
from ivm.trace.columns.exported import ArrowRows

_NONE: Mapping[str, None] = MappingProxyType({})


class OpenTransaction(Core):
    """What statements work on between BEGIN and COMMIT: the database as it was when the first of them ran, with what
    they have changed themselves. Nobody else sees that before `publish`.

    One thread uses it. What there was is kept meanwhile, so others commit, and read, as if it were not there.
    """

    def __init__(self, base: Core, *, read_only: bool, time: int | None = None, holder: str = "transaction") -> None:
        """`time`: of which it is, if not of the present; BindError if that is not kept. `holder`: what it is for."""
        with base.lock:
            self.pending = Pending(base, time, holder)
        super().__init__(self.pending, external_access=base.external_access)
        self.base = base
        self.clock.stand_at(base.clock.present() if time is None else base.engine.past.moment_of(time))
        self.catalog = self.incoming.catalog = self.pending.catalog
        self.numbers = self.incoming.numbers = self.pending.numbers
        self.functions = base.functions
        self.is_copied = base.is_copied
        self.settings = replace(base.settings, names=replace(base.settings.names, catalog=self.catalog))
        self.at = base.at
        self._only_reads = read_only

    def check_writable(self) -> None:
        """AccessError if the database was opened to be read only, TransactionError if the transaction was begun so."""
        self.base.check_writable()
        if self.pending.as_of.asked:
            raise TransactionError("cannot change anything in the past; a snapshot is to be read only")
        if self._only_reads:
            raise TransactionError(
                "cannot change anything in this transaction: it was begun with READ ONLY; ROLLBACK, and write BEGIN"
            )

    def commit(self, changes: list[Change], batch: Batch | None = None, *, settles: bool = True) -> int:
        """Have checked changes in the transaction; see `Core.commit`."""
        self.check_writable()
        return self.pending.commit(changes)

    def carry_out(
        self, work: Callable[[], None], catalog: Catalog, made: Mapping[str, ArrowRows | None] = _NONE,
        altered: Sequence[Altered] = (),
    ) -> None:  # fmt: skip
        """Have other things exist in the transaction; see `Core.carry_out`. What is interrupted aborts it."""
        self.check_writable()
        work()

    def certain(self) -> None:
        """See `Core.certain`."""
        self.base.certain()

    def publish(self, *, settles: bool = True) -> None:
        """Let everybody see what was changed, as one commit; on any error nothing has changed. `settles`: see
        `Core.commit`.

        Raises what a commit raises, and TransactionError if others were first: they have changed a row that this has
        changed, or put one where this puts one.
        """
        self.base.lock.check_open()
        if self.settings.path != self.base.settings.path:
            self.base.settings.path = self.settings.path
        publish(self.base, self.pending)
        if settles:
            self.base.settle()
            self.base.tidy_texts()
