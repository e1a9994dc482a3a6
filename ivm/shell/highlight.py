"""SQL in colours at the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from ivm.shell.names import KEYWORDS, TYPES, is_command

STYLE = Style.from_dict(
    {
        "keyword": "ansiblue bold",
        "type": "ansicyan",
        "text": "ansigreen",
        "number": "ansimagenta",
        "comment": "ansibrightblack italic",
        "command": "bold",
    }
)

_PARTS = re.compile(
    r"""
      (?P<text>'(?:[^']|'')*(?:'|\Z) | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<name>"(?:[^"]|"")*(?:"|\Z))
    | (?P<number>\b\d[\d_]*(?:\.\d*)?(?:e[+-]?\d+)?\b)
    | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_WORDS = {**dict.fromkeys(KEYWORDS, "class:keyword"), **dict.fromkeys(TYPES, "class:type")}


class SqlLexer(Lexer):
    """Styles the parts of statements, over several lines; a command has a style of its own."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled text of each line."""
        text = document.text
        parts: StyleAndTextTuples = [("class:command", text)] if is_command(text) else _styled(text)
        lines = list(split_lines(parts))
        return lambda number: lines[number] if number < len(lines) else []


def _styled(text: str) -> StyleAndTextTuples:
    parts: StyleAndTextTuples = []
    end = 0
    for found in _PARTS.finditer(text):
        parts.append(("", text[end : found.start()]))
        kind = found.lastgroup if found.lastgroup != "tag" else "text"
        parts.append((_WORDS.get(found[0].upper(), "") if kind == "word" else f"class:{kind}", found[0]))
        end = found.end()
    parts.append(("", text[end:]))
    return parts
