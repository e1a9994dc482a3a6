"""Random scalar expressions of a wanted kind, which never fail."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.random.literals import random_literal
from tests.random.scope import Scope

KINDS = ("INT", "DEC", "DBL", "STR", "DATE", "TS", "BOOL", "LIST", "REC", "ARR")
Value = Callable[[str, Scope, int], str]
"""Makes an expression of a kind, in a scope, of a depth."""


class Scalars:
    """Expressions over a scope. `condition` and `subquery` are made by whoever inherits this."""

    rng: Random

    def condition(self, scope: Scope, depth: int) -> str:
        """A boolean expression."""
        raise NotImplementedError

    def scalar_subquery(self, kind: str, scope: Scope, depth: int) -> str:
        """A subquery of one value."""
        raise NotImplementedError

    def value(self, kind: str, scope: Scope, depth: int) -> str:
        """An expression of a kind."""
        if depth <= 0 or self.rng.random() < 0.45:
            return self.leaf(kind, scope)
        if self.rng.random() < 0.06:
            return self.scalar_subquery(kind, scope, depth - 1)
        if self.rng.random() < 0.25:
            return self._any_kind(kind, scope, depth - 1)
        makers: dict[str, Value] = {
            "INT": self._integer, "DEC": self._decimal, "DBL": self._double, "STR": self._text, "DATE": self._date, "TS": self._timestamp,
            "LIST": self._of_list, "REC": self._record, "ARR": self._array, "BOOL": lambda kind, scope, depth: f"({self.condition(scope, depth)})",
        }  # fmt: skip
        return makers[kind](kind, scope, depth - 1)

    def leaf(self, kind: str, scope: Scope) -> str:
        """A column of the kind, or a literal."""
        column = scope.pick(self.rng, kind)
        return column if column is not None and self.rng.random() < 0.85 else random_literal(self.rng, kind)

    def _any_kind(self, kind: str, scope: Scope, depth: int) -> str:
        a, b = (self.value(kind, scope, depth) for _ in range(2))
        match self.rng.randrange(7):
            case 0:
                return f"coalesce({a}, {b})"
            case 1:
                return f"nullif({a}, {b})"
            case 2 if kind != "BOOL":
                return f"{self.rng.choice(('greatest', 'least'))}({a}, {b})"
            case 3:
                return f"CASE WHEN {self.condition(scope, depth)} THEN {a} END"
            case 4:
                other = self.rng.choice(KINDS[:6])
                subject, match_ = self.value(other, scope, depth), self.leaf(other, scope)
                return f"CASE {subject} WHEN {match_} THEN {a} ELSE {b} END"
            case 5:
                return f"if({self.condition(scope, depth)}, {a}, {b})"
            case _:
                return f"CASE WHEN {self.condition(scope, depth)} THEN {a} ELSE {b} END"

    def _integer(self, kind: str, scope: Scope, depth: int) -> str:
        def value(wanted: str) -> str:
            return self.value(wanted, scope, depth)

        small = self.rng.randint(2, 4)
        match self.rng.randrange(17):
            case 15:
                return self.rng.choice(
                    (f"{value('LIST')}[{small - 2}]", f"len({value('LIST')})::INTEGER", f"{value('REC')}.a")
                )
            case 16:
                return f"{value('LIST')}.list_sum()::INTEGER"
            case 14:
                name = self.rng.choice(("damerau_levenshtein", "levenshtein"))
                return f"CAST({name}({value('STR')}, {value('STR')}) AS INTEGER)"
            case 12:
                part = self.rng.choice(("hour", "minute", "second", "day", "year"))
                return f"extract({part} FROM coalesce({value('TS')}, TIMESTAMP '2020-01-01'))"
            case 13:
                return f"date_diff('day', {value('TS')}, {value('TS')})"
            case 0 | 1:
                return f"({value('INT')} {self.rng.choice('+-')} {value('INT')})"
            case 2:
                return f"({value('INT')} * {small})"
            case 3:
                return f"({value('INT')} {self.rng.choice(('%', '//'))} {small})"
            case 4:
                return f"abs({value('INT')})"
            case 5:
                return f"length({value('STR')})"
            case 6:
                part = self.rng.choice(("year", "month", "day", "quarter", "dow", "doy"))
                # DuckDB's extract of a NULL that it sees at once is a DOUBLE.
                return f"extract({part} FROM coalesce({value('DATE')}, DATE '2020-01-01'))"
            case 7:
                return f"({value('DATE')} - {value('DATE')})"
            case 8:
                return f"CAST({value('BOOL')} AS INTEGER)"
            case 9:
                return f"CAST({value('DEC')} AS INTEGER)"
            case 10:
                return f"position({random_literal(self.rng, 'STR')} IN {value('STR')})"
            case _:
                return f"(-{value('INT')})"

    def _decimal(self, kind: str, scope: Scope, depth: int) -> str:
        def value(wanted: str) -> str:
            return self.value(wanted, scope, depth)

        match self.rng.randrange(7):
            case 0 | 1:
                return f"CAST({value('DEC')} {self.rng.choice('+-')} {value('DEC')} AS DECIMAL(12,2))"
            case 2:
                return f"CAST({value('DEC')} * {self.rng.choice(('1.5', '2', '0.5'))} AS DECIMAL(12,2))"
            case 3:
                return f"abs({value('DEC')})"
            case 4:
                return f"round({value('DEC')}, {self.rng.randint(0, 2)})"
            case 5:
                return f"CAST({value('INT')} AS DECIMAL(12,2))"
            case _:
                return f"{self.rng.choice(('floor', 'ceil'))}({value('DEC')})"

    def _double(self, kind: str, scope: Scope, depth: int) -> str:
        def value(wanted: str) -> str:
            return self.value(wanted, scope, depth)

        match self.rng.randrange(6):
            case 0 | 1:
                return f"({value('DBL')} {self.rng.choice('+-')} {value('DBL')})"
            case 2:
                return f"({value('DBL')} * {self.rng.choice(('0.5::DOUBLE', '2'))})"
            case 3:
                return f"CAST({value(self.rng.choice(('INT', 'DEC')))} AS DOUBLE)"
            case 4:
                return f"({value('INT')} / {self.rng.choice(('2', '4'))})"
            case _:
                return f"{self.rng.choice(('floor', 'ceil', 'abs'))}({value('DBL')})"

    def _text(self, kind: str, scope: Scope, depth: int) -> str:
        a = self.value("STR", scope, depth)
        match self.rng.randrange(12):
            case 11:
                return f"{self.value('REC', scope, depth)}.b"
            case 9:
                return f"{self.rng.choice(('strip_accents', 'url_encode', 'bin', 'regexp_escape'))}({a})"
            case 10:
                return f"overlay({a} PLACING {self.value('STR', scope, depth)} FROM {self.rng.randint(1, 2)})"
            case 0:
                return f"upper({a})"
            case 1:
                return f"lower({a})"
            case 2:
                return f"substring({a}, {self.rng.randint(1, 2)}, {self.rng.randint(1, 2)})"
            case 3:
                return f"({a} || {self.value('STR', scope, depth)})"
            case 4:
                return f"replace({a}, 'a', 'x')"
            case 5:
                return f"trim({a})"
            case 6:
                return f"CAST({self.value(self.rng.choice(('INT', 'DATE', 'DEC', 'BOOL')), scope, depth)} AS VARCHAR)"
            case 7:
                return f"concat({a}, {self.value('STR', scope, depth)})"
            case _:
                return f"{self.rng.choice(('left', 'right'))}({a}, {self.rng.randint(0, 2)})"

    def _of_list(self, kind: str, scope: Scope, depth: int) -> str:
        a, number = self.value("LIST", scope, depth), self.value("INT", scope, depth)
        match self.rng.randrange(6):
            case 0:
                return f"[{number}, {self.value('INT', scope, depth)}]::INTEGER[]"
            case 1:
                return f"list_append({a}, CAST({number} AS INTEGER))"
            case 2:
                return f"list_filter({a}, lambda x: x > {self.rng.randint(0, 2)})"
            case 3:
                return f"{self.rng.choice(('list_sort', 'list_reverse'))}({a})"
            case 4:
                return f"list_concat({a}, {self.value('LIST', scope, depth)})"
            case _:
                return f"{a}[{self.rng.randint(1, 2)}:]"

    def _array(self, kind: str, scope: Scope, depth: int) -> str:
        a, number = self.value("ARR", scope, depth), self.value("INT", scope, depth)
        forms = (
            f"array_value(CAST({number} AS INTEGER), 1)",
            f"CASE WHEN {a} IS NOT NULL THEN CAST([{a}[2], {a}[1]] AS INTEGER[2]) END",
        )
        return self.rng.choice(forms)

    def _record(self, kind: str, scope: Scope, depth: int) -> str:
        number, text = self.value("INT", scope, depth), self.value("STR", scope, depth)
        if self.rng.random() < 0.5:
            return f"struct_update({self.value('REC', scope, depth)}, a := CAST({number} AS INTEGER))"
        return f"{{'a': {number}, 'b': {text}}}::STRUCT(a INTEGER, b VARCHAR)"

    def _date(self, kind: str, scope: Scope, depth: int) -> str:
        a = self.value("DATE", scope, depth)
        sign = self.rng.choice("+-")
        match self.rng.randrange(4):
            case 0:
                unit = self.rng.choice(("DAY", "MONTH", "YEAR"))
                return f"CAST({a} {sign} INTERVAL {self.rng.randint(1, 13)} {unit} AS DATE)"
            case 1:
                return f"({a} {sign} {self.rng.randint(1, 40)})"
            case 2:
                part = self.rng.choice(("month", "year", "quarter", "week"))
                return f"CAST(date_trunc('{part}', {a}) AS DATE)"
            case _:
                return f"CAST({a} {sign} INTERVAL {self.rng.randint(1, 2)} MONTH AS DATE)"

    def _timestamp(self, kind: str, scope: Scope, depth: int) -> str:
        a = self.value("TS", scope, depth)
        match self.rng.randrange(4):
            case 0:
                unit = self.rng.choice(("SECOND", "HOUR", "DAY", "MONTH", "YEAR"))
                return f"({a} {self.rng.choice('+-')} INTERVAL {self.rng.randint(1, 40)} {unit})"
            case 1:
                return f"date_trunc('{self.rng.choice(('hour', 'day', 'month', 'quarter'))}', {a})"
            case 2:
                return f"({self.value('DATE', scope, depth)} + INTERVAL {self.rng.randint(1, 3)} DAY)"
            case _:
                return f"CAST({self.value('DATE', scope, depth)} AS TIMESTAMP)"
