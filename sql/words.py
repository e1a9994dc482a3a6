"""The words of a statement that is read by its tokens, since sqlglot does not know all of its grammar."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from ivm.sql.sql_text import SqlText

_NOT_NAMES = frozenset([TokenType.STRING, TokenType.NUMBER, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA])


def is_about(tokens: Sequence[Token], kinds: Collection[str]) -> bool:
    """Whether a statement that begins so creates or drops something of one of these kinds: words in upper case."""
    words = [token.text.upper() for token in tokens[:5]]
    rest = words[3:] if words[:3] == ["CREATE", "OR", "REPLACE"] else words[1:]
    if words[:1] == ["CREATE"] and rest[:1] in (["TEMP"], ["TEMPORARY"]):
        rest = rest[1:]
    return words[:1] in (["CREATE"], ["DROP"]) and rest != [] and rest[0] in kinds


def without(words: tuple[str, ...], tokens: Sequence[Token]) -> tuple[bool, Sequence[Token]]:
    """Whether the tokens begin with these words, and those that follow."""
    found = tuple(token.text.upper() for token in tokens[: len(words)]) == words
    return found, tokens[len(words) :] if found else tokens


def end_of_name(tokens: Sequence[Token], begin: int) -> int:
    """Where a name ends that begins there, behind its database and schema, if they are written."""
    end = begin + 1
    while end + 1 < len(tokens) and tokens[end].token_type == TokenType.DOT:
        end += 2
    return end


class Words:
    """The tokens of a statement, taken one after the other; `form` is how it is written, for messages."""

    def __init__(self, tokens: Sequence[Token], source: SqlText, form: str) -> None:
        self.source = source
        self.form = form
        self._tokens = tokens
        self._at = 0

    @property
    def rest(self) -> Sequence[Token]:
        """Those that are left."""
        return self._tokens[self._at :]

    @property
    def place(self) -> int:
        """Where the next one begins; at the end, where the last one ends."""
        return self.rest[0].start if self.rest else self._tokens[-1].end

    def take(self, *words: str) -> bool:
        """Take these words, if they come next."""
        found = tuple(token.text.upper() for token in self.rest[: len(words)]) == words
        self._at += len(words) * found
        return found

    def name(self, what: str) -> str:
        """Take the name of a table or view. BindError if a schema stands before it that there is not."""
        place, name = self.place, self.plain_name(what)
        if self.rest and self.rest[0].token_type == TokenType.DOT:
            self.source.fail(place, f"there is no schema {name!r}; CREATE SCHEMA makes one")
        return name

    def plain_name(self, what: str) -> str:
        """Take a name that stands alone; `what` it is one of."""
        if not self.rest or self.rest[0].token_type in _NOT_NAMES or not self.rest[0].text:
            self.fail(f"expected the name of {what}")
        self._at += 1
        return self._tokens[self._at - 1].text

    def names(self, what: str) -> tuple[str, ...]:
        """Take names between parentheses."""
        found = []
        if not self.take("("):
            self.fail(f"expected ( and names of {what}")
        while True:
            found.append(self.plain_name(what))
            if self.take(")"):
                return tuple(found)
            if not self.take(","):
                self.fail("expected , or )")

    def whole_number(self, what: str) -> int:
        """Take a whole number, the value of `what`."""
        is_negative = self.take("-")
        if not self.rest or not self.rest[0].text.isdecimal():
            self.fail(f"expected a whole number after {what}")
        self._at += 1
        found = int(self._tokens[self._at - 1].text)
        return -found if is_negative else found

    def text(self) -> str:
        """Take all that is left, as it is written."""
        if not self.rest:
            self.fail("something is missing at the end")
        rest, self._at = self.rest, len(self._tokens)
        return self.source.text[rest[0].start : rest[-1].end + 1]

    def text_before(self, word: str) -> str:
        """Take all that stands before a word, or all that is left, as it is written."""
        places = [place for place, token in enumerate(self.rest) if token.text.upper() == word]
        taken = self.rest[: places[0]] if places else self.rest
        if not taken:
            self.fail("something is missing here")
        self._at += len(taken)
        return self.source.text[taken[0].start : taken[-1].end + 1]

    def end(self) -> None:
        """ParseError unless all is taken."""
        if self.rest:
            self.fail(f"unexpected {self.rest[0].text!r}")

    def fail(self, message: str) -> NoReturn:
        """Raise ParseError."""
        self.source.misread(self.place, f"{message}; write {self.form}")

    def refuse(self, message: str) -> NoReturn:
        """Raise UnsupportedError."""
        self.source.refuse(self.place, message)
