"""Options that several commands have."""

from __future__ import annotations

import typer

from tpch import queries


def views_of(text: str) -> tuple[str, ...]:
    """The queries that the option `--views` asks for (see `queries.select`); a usage error if one is none."""
    try:
        return queries.select(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--views") from None
