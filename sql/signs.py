"""How tightly DuckDB's operators bind, where sqlglot reads them otherwise, and those that it does not know.

From the weakest: ||, ^@, &&, @>, <@, <->, <=> and ->>; then &, |, << and >>; then + and -; then * and its like; then
^ and **; at last the signs in front, of which ~ takes all up to + behind it, and @ all up to ||.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

SIGN = "sign"
"""Where an operator that is written otherwise than most of its kind keeps it, in its `meta`: ** is ^, NOT x IS NULL is
x IS NOT NULL, IN [..] is IN (..).
"""


class Plus(exp.Unary):
    """+x, which is x."""


class CosineDistance(exp.Expression, exp.Binary):
    """x <=> y."""


_WEAK: dict[TokenType, type[exp.Expression]] = {
    TokenType.DPIPE: exp.DPipe,
    TokenType.CARET_AT: exp.StartsWith,
    TokenType.DAMP: exp.ArrayOverlaps,
    TokenType.AT_GT: exp.ArrayContainsAll,
    TokenType.LT_AT: exp.ArrayContainedBy,
    TokenType.LR_ARROW: exp.Distance,
    TokenType.NULLSAFE_EQ: CosineDistance,
}
_BITS: dict[TokenType, type[exp.Binary]] = {TokenType.AMP: exp.BitwiseAnd, TokenType.PIPE: exp.BitwiseOr}
_SHIFTS: dict[TokenType, type[exp.Binary]] = {TokenType.LT: exp.BitwiseLeftShift, TokenType.GT: exp.BitwiseRightShift}
_POWERS = {TokenType.CARET: "^", TokenType.DSTAR: "**"}
OPERATORS: tuple[type[exp.Expr], ...] = (
    *_WEAK.values(), *_BITS.values(), *_SHIFTS.values(), exp.JSONExtract, exp.JSONExtractScalar,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow,
)  # fmt: skip
"""Those between two operands that are no comparisons."""
_CHARACTERS = frozenset("~!@#^&|?<>=%*/+-")
"""What operators are made of."""


def as_here(base: type[Parser]) -> dict[str, Any]:
    """The tables of the parser `base`, without what `Signs` reads."""
    places = {name: getattr(base, name) for name in ("EQUALITY", "FACTOR", "RANGE_PARSERS")}
    tables = {name: {sign: read for sign, read in table.items() if sign not in _WEAK} for name, table in places.items()}
    return {
        **tables,
        "NO_PAREN_FUNCTION_PARSERS": {**base.NO_PAREN_FUNCTION_PARSERS, "@": lambda self: self.absolute()},
    }


class Signs(Parser):
    """The part of a parser of DuckDB's dialect that reads operators."""

    def _parse_bitwise(self) -> exp.Expr | None:
        """The weakest of what is neither a comparison nor a condition."""
        this = self._parse_bits()
        while True:
            kind = _WEAK.get(self._curr.token_type)
            if kind is not None:
                self._advance()
                this = self.expression(kind(this=this, expression=self._parse_bits()))
            elif self._match_set(self.JSON_OPERATORS):
                this = self.JSON_OPERATORS[self._prev.token_type](self, this, self._parse_bits())
            else:
                return this

    def _parse_bits(self) -> exp.Expr | None:
        this = self._parse_bits_operand()
        while True:
            kind = _BITS.get(self._curr.token_type)
            if kind is not None:
                self._advance()
            elif self._curr.token_type in _SHIFTS and self._next.token_type is self._curr.token_type:
                kind = _SHIFTS[self._curr.token_type]
                self._advance(2)
            else:
                return this
            this = self.expression(kind(this=this, expression=self._parse_bits_operand()))

    def _parse_bits_operand(self) -> exp.Expr | None:
        sign = self._curr
        if not self._match(TokenType.TILDE):
            return self._parse_term()
        self._check_alone(sign)
        return self.expression(exp.BitwiseNot(this=self._parse_bits_operand()))

    def _parse_exponent(self) -> exp.Expr | None:
        this = self._parse_unary()
        while self._curr.token_type in _POWERS:
            sign = _POWERS[self._curr.token_type]
            self._advance()
            this = self.expression(exp.Pow(this=this, expression=self._parse_unary()))
            this.meta[SIGN] = sign
        return this

    def _parse_unary(self) -> exp.Expr | None:
        """Signs in front."""
        if self._match(TokenType.PLUS):
            return self.expression(Plus(this=self._parse_unary()))
        if self._match(TokenType.TILDE, advance=False):
            this = self._parse_bits()
            return this if isinstance(this, exp.BitwiseNot) else self.expression(exp.Paren(this=this))
        sign = self._curr
        found = super()._parse_unary()
        if isinstance(found, exp.Not) and sign.token_type is TokenType.NOT:
            found.meta[SIGN] = "NOT"
        return found

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        sign = self._curr
        found = super()._parse_in(this, alias)
        if sign.token_type is TokenType.L_BRACKET:
            found.meta[SIGN] = "["
        return found

    def _parse_type(self, parse_interval: bool = True, fallback_to_identifier: bool = False) -> exp.Expr | None:
        return self._with_factorial(super()._parse_type(parse_interval, fallback_to_identifier))

    def absolute(self) -> exp.Expr:
        """@ and what it takes; the sign is read."""
        self._check_alone(self._prev)
        return self.expression(exp.Abs(this=self._parse_bitwise()))

    def _with_factorial(self, operand: exp.Expr | None) -> exp.Expr | None:
        """An operand with ! behind it is its factorial."""
        while operand is not None and self._curr.token_type is TokenType.NOT and self._curr.text == "!":
            if self._touches(self._curr, self._next):  # they are one operator, such as !~~
                break
            self._advance()
            operand = exp.Anonymous(this="factorial", expressions=[operand])
            operand = self._parse_column_ops(operand)
        return operand

    def _check_alone(self, sign: Token) -> None:
        """Refuse -@x and @-x, which DuckDB takes for an operator."""
        at = next(i for i in range(self._index, -1, -1) if self._tokens[i] is sign)
        before, behind = self._tokens[max(at - 1, 0)], self._tokens[min(at + 1, self._tokens_size - 1)]
        for first, second in ((before, sign), (sign, behind)):
            if first is not second and self._touches(first, second):
                self.raise_error(f"{first.text}{second.text} is no operator; put a blank between the two", sign)

    @staticmethod
    def _touches(first: Token, second: Any) -> bool:
        """Whether two signs stand with nothing between them."""
        return bool(second.text) and {first.text[-1:], second.text[:1]} <= _CHARACTERS and second.start == first.end + 1
