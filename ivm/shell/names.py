"""The shell's commands and SQL's words, and when what has been typed is complete: known without the engine, at the
prompt, before it is there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ivm.catalog.types import Kind
from ivm.session.script import is_blank, split


@dataclass(frozen=True, slots=True)
class Named:
    """A command: its name, how it is written, what it does."""

    name: str
    arguments: str
    help: str

    @property
    def usage(self) -> str:
        """The name with its arguments."""
        return f"{self.name} {self.arguments}".rstrip()

    def takes(self, count: int) -> bool:
        """Whether it may have so many arguments; those in brackets can be left out."""
        words = self.arguments.split()
        return len([word for word in words if word[0] != "["]) <= count <= len(words)


COMMANDS = (
    Named(".tables", "", "tables and views"),
    Named(".schema", "[NAME]", "the statements that would make them"),
    Named(".mode", "[table|csv|json|line]", "how rows are printed; all but table print every row, exactly"),
    Named(".timer", "on|off", "whether times are told"),
    Named(".read", "FILE", "run the statements and commands of a file"),
    Named(
        ".import", "FILE TABLE", "insert the rows of a .csv, .parquet or .json file; makes the table if there is none"
    ),
    Named(".apply", "TABLE FILE", "apply the changes in such a file (columns _time, _diff as in db.apply)"),
    Named(".verify", "", "compare every view with DuckDB"),
    Named(".help", "", "this text"),
    Named(".quit", "", "leave (also exit, quit, Ctrl-D)"),
)

LEAVE = (".quit", ".exit")

MODES = ("table", "csv", "json", "line")

_WORDS = """
ALL AND ANTI AS ASC BEGIN BETWEEN BY CASE CAST COALESCE COMMIT COPY COUNT CREATE CROSS CUBE DATE DEFAULT DELETE DESC
DESCRIBE DISTINCT DROP ELSE END EXCEPT EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FOREIGN FROM FULL GROUP GROUPING HAVING
IF ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN KEY LAST LATERAL LEFT LIKE LIMIT MATCHED MATERIALIZED MAX
MERGE MIN NATURAL NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRIMARY QUALIFY RANGE REFERENCES REPLACE
RIGHT ROLLBACK ROLLUP ROWS SELECT SEMI SET SETS SHOW SUM SUMMARIZE TABLE THEN TRUE TRUNCATE TRY_CAST UNION UNIQUE UPDATE
USING VALUES VIEW WHEN WHERE WINDOW WITH
"""

KEYWORDS = tuple(_WORDS.split())
TYPES = tuple(sorted({kind.value for kind in Kind} - {"NULL", "LIST", *KEYWORDS}))


def is_command(line: str) -> bool:
    """True for a line that begins with a dot."""
    return line.lstrip().startswith(".")


def is_leaving(line: str) -> bool:
    """True for `exit` and `quit`, alone on a line."""
    return line.strip().rstrip(";").rstrip().lower() in ("exit", "quit")


def is_complete(text: str) -> bool:
    """True if nothing has to follow: the text is a command, ends with a semicolon, or holds no words."""
    return is_command(text) or is_leaving(text) or is_blank(split(text).rest)
