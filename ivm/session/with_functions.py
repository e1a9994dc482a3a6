"""What a user says of functions of Python's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ivm.session.core import Core
from ivm.session.functions import create_function, declared, remove_function
from ivm.session.transactions import Transactions


class WithFunctions(ABC):
    """A database that calls functions which the application has written."""

    _transactions: Transactions

    @property
    @abstractmethod
    def _open(self) -> Core:
        """The core, if it can still be used."""

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[Any] | None = None,
        return_type: Any = None,
        *,
        type: Literal["native", "arrow"] = "native",
        null_handling: Literal["default", "special"] = "default",
        exception_handling: Literal["default", "return_null"] = "default",
        side_effects: bool = False,
    ) -> None:
        """Let SQL call a function of Python's, in views and statements alike, as DuckDB's client does.

        Args:
            name: What SQL calls it.
            function: What is called with the values of a row, or once with Arrow arrays of many.
            parameters: The types of its arguments: texts such as "INTEGER[]", DuckDB's types or Python's. None: those
                of its annotations; or of any number and type, if it takes `*args`.
            return_type: The type of its result. None: that of its annotation.
            type: "native" (default): of values. "arrow": of arrays (`pyarrow.Array`), and gives one with as many.
            null_handling: "default": the result is NULL where an argument is, and the function is not called; None
                from it is an error. "special": it is called with None, and may return it.
            exception_handling: "return_null" makes NULL of what raises. "default": the statement fails.
            side_effects: True for what does something beside its value, or gives another one each time. Views refuse
                such a function.

        A view calls the function once for each combination of arguments that comes, and remembers the answer until the
        last row that has these is gone. So it is to follow from its arguments alone; where it does not, a view stays
        right by what was said first, other views that call it with the same arguments are told that too, and so are
        SELECTs and `verify`. What it raises, or returns that is no value of its type, fails the statement or commit
        (NumericError, which shows the arguments), and nothing has changed. While it runs it may not use this database
        (InterfaceError). One that never returns keeps commits waiting until Ctrl-C, which in queries, that DuckDB runs,
        is heard when the function returns.

        No log has functions, only how those that views call were declared. Whoever opens a database on disk gives
        `ivm.connect` these, or calls this later, with the same types; until then a commit or query that needs one fails
        (MissingFunctionError), and all else goes on. Answers are in its checkpoints; those since are asked again when
        it is opened, for which it needs the functions.

        Raises TypeMismatchError for what is no function, or has no types; BindError if a function of DuckDB's, a macro
        or another function has the name, or views call one that was declared in another way; UnsupportedError on Spark.

        Cost: of a commit, for each combination of arguments that is new, what the function takes and some ten
        microseconds, and about one for each row. Memory: some 300 bytes for each that is there, in each view.
        """
        core = self._open
        self._transactions.check_none("db.create_function")
        create_function(
            core,
            declared(
                name, function, parameters, return_type,
                type=type, null_handling=null_handling, exception_handling=exception_handling,
                side_effects=side_effects,
            ),
        )  # fmt: skip

    def remove_function(self, name: str) -> None:
        """Let go of a function; BindError if there is none, or if views call it."""
        core = self._open
        self._transactions.check_none("db.remove_function")
        remove_function(core, name)
