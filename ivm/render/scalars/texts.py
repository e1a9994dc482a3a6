"""Functions of texts, and to text, over columns of dictionary codes, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import BOOLEAN, JSON, VARCHAR, Kind, Physical
from ivm.render.scalars.bodies.texts import TEXTS, native_of
from ivm.render.scalars.columns import Rows, all_valid, both, dense, objects, pick, spread, stored
from ivm.render.scalars.failures import literal_text
from ivm.render.scalars.functions import Context, Evaluate, Interpreter
from ivm.render.scalars.text_natives import column_of
from ivm.sql.ir.asking import CASTS, asked_as, is_asked, is_asked_cast
from ivm.sql.ir.functions import function_of, is_null_of_null
from ivm.sql.ir.scalar import Call, Literal
from ivm.sql.types.texts import InfinityError, reader
from ivm.trace.columns.column import DTYPES, Array, Column
from ivm.trace.columns.plain_texts import cast_plainly, gains
from ivm.trace.text import regex
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.texts import joined

REGEXES: dict[str, Callable[..., Array]] = {
    "regexp_matches": regex.found,
    "regexp_full_match": regex.matched,
    "regexp_replace": regex.replaced,
    "regexp_extract": regex.extracted,
}
"""Regular expressions, by the functions' names: of codes of strings. Patterns and what replaces them are literals."""
_NOTHING: dict[Physical, Any] = {Physical.BOOL: False, Physical.CODE: "", Physical.FLOAT64: 0.0}
"""What stands under NULL; 0 of integers."""
_ORDERS = frozenset(("lt", "le", "gt", "ge"))


def is_by_value(call: Call) -> bool:
    """Whether it is a function of texts, or to text, that looks at the strings; of comparisons, that with a literal."""
    if call.function in CASTS:
        given = call.args[0].type
        return is_asked_cast(call) or (given.kind is Kind.VARCHAR and call.type.kind is not Kind.VARCHAR)
    if call.function in TEXTS or call.function in REGEXES or function_of(call.function).asked is not None:
        return True
    return call.function in _ORDERS and bool(native_of(call))


def compare_columns(dictionary: TextDictionary, a: Array, b: Array) -> Array:
    """-1, 0 or 1 for each pair of codes, by the bytes of their strings."""
    length = max(len(a), len(b))
    x, y = (np.repeat(v, length) if len(v) != length else v for v in (a, b))
    ranks = dictionary.now().ranks(np.concatenate([x, y]).astype(np.int32))
    signs: Array = np.sign(ranks[:length] - ranks[length:])
    return signs


def by_value(call: Call, context: Context, interpreter: Interpreter) -> Evaluate:
    """A call that `is_by_value`. Cost: of natives, regular expressions and `concat` 20 to 300 ns a value, else some us;
    of what DuckDB is asked for see `ivm.asked`.

    Those of a single argument that varies are computed once for each distinct value of a batch, unless a native is.
    """
    literals = [arg.value for arg in call.args if isinstance(arg, Literal)]
    arguments = [interpreter(arg, context) for arg in call.args if not isinstance(arg, Literal)]
    if call.function in REGEXES:
        arguments, literals = [interpreter(call.args[0], context)], literals[-len(call.args) + 1 :]
        regex.check_pattern(str(literals[0]), str(literals[1]) if call.function == "regexp_replace" else "")

    native, dictionary = native_of(call), context.dictionary

    def computed(columns: list[Column]) -> Column:
        if native is not None:
            return column_of(native, dictionary.now().texts(columns[0].values), dictionary)
        return _by_distinct(call, dictionary, columns)

    if not is_null_of_null(call):
        return lambda rows: _by_distinct(call, dictionary, [argument(rows) for argument in arguments])

    def evaluate(rows: Rows) -> Column:
        columns = [argument(rows) for argument in arguments]
        valid = np.zeros(1, np.bool_) if None in literals else all_valid(tuple(columns))
        if valid is None:
            return computed(columns)
        # What stands under NULL may be no argument of the function.
        length = max([len(valid), *(len(c.values) for c in columns)])
        there = np.flatnonzero(np.resize(valid, length))
        found = computed([pick(c, there) for c in columns]) if len(there) else None
        return spread(found, there, length, call.type.physical)

    return evaluate


def _by_distinct(call: Call, dictionary: TextDictionary, columns: list[Column]) -> Column:
    """The function of columns, of which some may be of length one; without NULLs, unless DuckDB is asked of those."""
    long: list[Any] = [c.values for c in columns if len(c.values) > 1]
    if any(c.valid is not None for c in columns):
        return _of_columns(call, dictionary, columns)
    if call.function == "concat" or len(long) != 1 or long[0].ndim != 1 or (long[0][1:] > long[0][:-1]).all():
        return _of_columns(call, dictionary, columns)
    some, places = np.unique(long[0], return_inverse=True)
    distinct = [Column(some) if c.values is long[0] else c for c in columns]
    return dense(_of_columns(call, dictionary, distinct), len(some)).take(places)


def _of_columns(call: Call, dictionary: TextDictionary, columns: list[Column]) -> Column:
    if call.function in REGEXES:
        literals = [arg.value for arg in call.args[1:] if isinstance(arg, Literal)]
        return Column(REGEXES[call.function](dictionary, columns[0].values, *literals))
    if call.function in CASTS and call.type == JSON and call.args[0].type == VARCHAR and columns:
        return _checked_json(call, dictionary, columns[0])
    if is_asked(call):
        return _asked(asked_as(call), call, dictionary, columns)
    strings, length, waiting = dictionary.now(), max((len(c.values) for c in columns), default=1), iter(columns)
    if call.function == "concat" and columns:
        parts = [a.value if isinstance(a, Literal) else strings.decode(next(waiting).values) for a in call.args]
        return Column(dictionary.encode(joined(parts)).values)
    if call.function in CASTS and columns and call.args[0].type == VARCHAR and gains(length, call.type):
        texts = strings.decode(dense(columns[0], length).values)
        found = cast_plainly(texts, call.type, lambda odd: _results(call, dictionary, [odd.to_pylist()]))
        if found is not None:
            return found
    lists: list[Iterable[Any]] = []
    for arg in call.args:
        if isinstance(arg, Literal):
            lists.append(repeat(arg.value, length))
        else:
            values = dense(next(waiting), length).values
            lists.append(strings.strings(values) if arg.type.kind is Kind.VARCHAR else objects(values).tolist())
    return _results(call, dictionary, lists)


def _checked_json(call: Call, dictionary: TextDictionary, texts: Column) -> Column:
    """The texts themselves, which JSON is kept as."""
    is_there: Any = _asked("json_valid", Call("json_valid", call.args, BOOLEAN), dictionary, [texts]).values
    if is_there.all():
        return texts
    if call.function == "cast":
        return _asked("cast", call, dictionary, [texts.take(np.flatnonzero(~is_there))])  # which raises
    return Column(texts.values, both(texts.valid, is_there))


def _asked(function: str, call: Call, dictionary: TextDictionary, columns: list[Column]) -> Column:
    """What DuckDB says of each row of the arguments."""
    from ivm.asked import asked  # noqa: PLC0415  DuckDB, which takes a while to import

    length, waiting = max((len(c.values) for c in columns), default=1), iter(columns)
    arguments = [
        (literal_text(arg), arg.type) if isinstance(arg, Literal) else (dense(next(waiting), length), arg.type)
        for arg in call.args
    ]
    return asked(function, arguments, call.type, dictionary)


def _results(call: Call, dictionary: TextDictionary, arguments: list[Iterable[Any]]) -> Column:
    """The function of the values of each argument."""
    function, physical, results = _function_of(call), call.type.physical, list[Any]()
    for row in zip(*arguments, strict=True):
        try:
            results.append(function(*row))
        except InfinityError as error:
            raise NumericError(f"cannot cast {row[0]!r} to {call.type}: {error}") from None
        except ValueError:
            raise NumericError(_problem(call, list(row))) from None
    valid = None
    if None in results:
        valid = np.array([r is not None for r in results], np.bool_)
        results = [_NOTHING.get(physical, 0) if r is None else r for r in results]
    if physical is Physical.CODE:
        return Column(dictionary.codes(results), valid)
    wide = physical is Physical.WIDE
    return Column(stored(np.array(results, object if wide else DTYPES[physical]), physical), valid)


def _function_of(call: Call) -> Callable[..., Any]:
    if call.function not in CASTS:
        return TEXTS[call.function].each
    read = reader(call.type)
    assert read is not None, "the binder casts no text to other types"
    return read if call.function == "cast" else partial(_tried, read)


def _tried(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except InfinityError:
        raise
    except ValueError:
        return None


def _problem(call: Call, values: list[Any]) -> str:
    what = f"cannot compute {call.function}({', '.join(map(repr, values))})"
    if call.function in CASTS:
        return f"cannot cast {values[0]!r} to {call.type}: it is no such value; correct the text or filter it out first"
    try:
        TEXTS[call.function].each(*values)
    except ValueError as reason:
        return f"{what}: {reason}"
    return what
