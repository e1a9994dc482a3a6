"""Random aggregates and window functions whose results do not depend on an order that is not said."""

from __future__ import annotations

from tests.random.conditions import Conditions
from tests.random.kinds import KINDS
from tests.random.scope import Col, Scope

FRAMES = (
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES",
    "GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP",
    "ROWS BETWEEN {0} PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN {0} PRECEDING AND {0} FOLLOWING EXCLUDE CURRENT ROW",
)
"""With a distance of each row's in the place of {0}."""

_OTHERS = {
    "INT": ("count(DISTINCT ({INT}, {STR}))", "count_if({INT} > 1)"),
    "DBL": ("quantile_cont({DBL}, 0.5)", "avg(DISTINCT {INT})", "favg({DBL})"),
    "STR": ("string_agg(DISTINCT {STR}, '-' ORDER BY {STR})", "string_agg({STR}, '' ORDER BY {STR} DESC NULLS LAST)"),
    "LIST": ("max(CAST({INT} AS INTEGER), 2)", "min(CAST({INT} AS INTEGER), 3)"),
    "WORDS": ("list({STR} ORDER BY {STR})", "array_agg(DISTINCT {STR} ORDER BY {STR} DESC)", "max({STR}, 2)"),
    "JSN": ("json_group_array({STR} ORDER BY {STR})", "json_group_object({STR}, {INT} ORDER BY {STR}, {INT})"),
    "DATE": ("first({DATE} ORDER BY {DATE})", "quantile_disc({DATE}, 0.5)"),
    "TSZ": ("last({TSZ} ORDER BY {TSZ})", "quantile_disc({TSZ}, 0.25)"),
    "BOOL": ("bool_or({STR} > 'a')", "bool_and({BOOL} ORDER BY {BOOL})"),
}
"""Other aggregates of each kind, in which each place of a kind stands for the same expression."""


class Aggregates(Conditions):
    """Aggregates over the rows of a scope."""

    def aggregate(self, kind: str, scope: Scope, depth: int) -> str:
        """An aggregate whose result has the kind."""
        inner = Scope(scope.columns, ())  # DuckDB takes an aggregate of outer columns alone for the outer block's
        value = self.value(kind, inner, depth)
        distinct = "DISTINCT " if self.rng.random() < 0.25 else ""
        roll = self.rng.random()
        if kind == "INT":
            anything = self.value(self._some_kind(scope), inner, depth)
            if roll < 0.3:
                return self._filtered("count(*)", inner)
            if roll < 0.5:
                return self._filtered(f"count({distinct}{anything})", inner)
            if roll < 0.7:
                return f"CAST({self._filtered(f'sum({distinct}{value})', inner)} AS BIGINT)"
            if roll < 0.76:
                return self._filtered(f"{self.rng.choice(('bit_and', 'bit_or', 'bit_xor'))}({value})", inner)
        if kind == "DEC" and roll < 0.5:
            return f"CAST({self._filtered(f'sum({distinct}{value})', inner)} AS DECIMAL(15,2))"
        if kind == "DBL" and roll < 0.6:
            number = self.value(self.rng.choice(("INT", "DBL")), inner, depth)
            return self._filtered(f"{self.rng.choice(('avg', 'sum', 'median'))}({number})::DOUBLE", inner, "::DOUBLE")
        if kind == "DBL" and roll < 0.7:
            anything = self.value(self._some_kind(scope), inner, depth)
            return self._filtered(self.rng.choice((f"entropy({anything})", f"mad({value})")), inner)
        if kind == "BOOL":
            return self._filtered(f"{self.rng.choice(('bool_and', 'bool_or'))}({value})", inner)
        if kind == "LIST" and roll < 0.4:
            number = f"CAST({self.value('INT', inner, depth)} AS INTEGER)"
            if any(column.text in number for column in inner.columns):
                return self._filtered(f"list({distinct}{number} ORDER BY {number})", inner)
        if kind == "STR" and roll < 0.3:
            order = f" ORDER BY {value}{self.rng.choice(('', ' DESC', ' NULLS FIRST'))}"
            if not any(column.text in value for column in inner.columns):
                order = ""  # DuckDB refuses an order by a literal
            return self._filtered(f"string_agg({value}, ','{order})", inner)
        if 0.7 < roll < 0.88 and kind in _OTHERS:
            return self._of_same(self.rng.choice(_OTHERS[kind]), inner, depth) or self._filtered(f"max({value})", inner)
        if roll > 0.96:
            function = self.rng.choice(("first", "last", "arg_min_null", "arg_max_null"))
            call = f"{value} ORDER BY {value}" if function in ("first", "last") else f"{value}, {value}"
            if any(column.text in value for column in inner.columns):
                return self._filtered(f"{function}({call})", inner)
        if roll > 0.92:
            return self._filtered(f"{self.rng.choice(('arg_min', 'arg_max'))}({value}, {value})", inner)
        if roll > 0.88 and kind in ("INT", "DEC", "DBL"):
            return self._filtered(f"quantile_disc({value}, {self.rng.choice(('0.25', '0.5', '0.9'))})", inner)
        return self._filtered(f"{self.rng.choice(('min', 'max'))}({value})", inner)

    def _of_same(self, template: str, scope: Scope, depth: int) -> str:
        """A call of one of `_OTHERS`; "" where what it orders by would be a literal, which DuckDB refuses."""
        values = {kind: self.value(kind, scope, depth) for kind in KINDS if f"{{{kind}}}" in template}
        if not all(any(column.text in value for column in scope.columns) for value in values.values()):
            return ""
        return self._filtered(template.format(**values), scope)

    def _filtered(self, call: str, scope: Scope, cast: str = "") -> str:
        if self.rng.random() > 0.15:
            return call
        call = call.removesuffix(cast)
        return f"{call} FILTER (WHERE {self._simple(scope, 0)}){cast}"

    def window(self, scope: Scope) -> tuple[str, str]:
        """A window function over the rows of the scope, and the kind of its result.

        Rows that the order cannot tell apart are equal, so that it does not matter which comes first.
        """
        order = f"ORDER BY {', '.join(self._ordered(column) for column in self._shuffled(scope.columns))}"
        keys = [c.text for c in self.rng.sample(scope.columns, min(len(scope.columns), self.rng.choice((0, 1, 1, 2))))]
        partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
        kind = self.rng.choice(scope.kinds())
        value = self.value(kind, Scope(scope.columns), 1)
        numbers = [f"abs(coalesce({c.text}, 0))::INTEGER" for c in scope.columns if c.kind == "INT"] or ["1"]
        frame = f" {self.rng.choice(FRAMES).format(self.rng.choice(numbers))}" if self.rng.random() < 0.6 else ""
        over = f"OVER ({partition}{order}"
        match self.rng.randrange(10):
            case 0 | 1:
                return f"{self.rng.choice(('row_number', 'rank', 'dense_rank'))}() {over})", "INT"
            case 2:
                tiles = self.rng.choice(("1", "2", "3", f"greatest({self.rng.choice(numbers)}, 1)"))
                return f"ntile({tiles}) {over})", "INT"
            case 3:
                by = self.rng.choice(("0", "1", "2", self.rng.choice(numbers)))
                return f"{self.rng.choice(('lag', 'lead'))}({value}, {by}) {over})", kind
            case 4:
                nth = f"nth_value({value}, {self.rng.choice(('2', self.rng.choice(numbers)))})"
                call = self.rng.choice((f"first_value({value})", f"last_value({value})", nth))
                return f"{call} {over}{frame})", kind
            case 5:
                return f"count({self.rng.choice(('*', value))}) {over}{frame})", "INT"
            case 6:
                return f"{self.rng.choice(('min', 'max'))}({value}) {over}{frame})", kind
            case 7:
                whole = self.rng.random() < 0.4
                number = self.value("INT", Scope(scope.columns), 1)
                return f"CAST(sum({number}) {f'OVER ({partition}' if whole else over + frame}) AS BIGINT)", "INT"
            case 8:
                number = self.value("INT", Scope(scope.columns), 1)
                call = self.rng.choice((f"count(DISTINCT {value})", f"median({number})", f"bit_or({number})"))
                return f"CAST({call} {self.rng.choice((f'OVER ({partition}', over + frame))}) AS BIGINT)", "INT"
            case _:
                return f"avg({self.value('INT', Scope(scope.columns), 1)}) {over}{frame})", "DBL"

    def _shuffled(self, columns: tuple[Col, ...]) -> list[Col]:
        return self.rng.sample(columns, len(columns))

    def _ordered(self, column: Col) -> str:
        return f"{column.text}{self.rng.choice(('', ' DESC'))}{self.rng.choice(('', ' NULLS FIRST', ' NULLS LAST'))}"
