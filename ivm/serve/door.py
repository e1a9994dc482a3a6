"""Doors: by what a server is reached, one for each protocol."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from ivm.catalog.errors import Error
from ivm.serve.inside import Inside


class Door(Protocol):
    """What listens at one port, speaks one protocol, and lets those in whom the gate knows."""

    @property
    def address(self) -> str:
        """Where it listens, once it was started, as a client writes it: "http://127.0.0.1:8080"."""
        ...

    def start(self) -> None:
        """Listen, in threads of its own. InterfaceError, and nothing is left, if that is not possible."""
        ...

    def stop(self) -> None:
        """Let nobody in any more, tell those who are inside, let what is at work end, and return when all have gone.

        `Inside.ending` is set by then. Once is enough; it may be called where `start` was not.
        """
        ...


class _Makes(Protocol):
    def __call__(self, inside: Inside, port: int) -> Door: ...


DOORS: Mapping[str, str] = {
    "http": "ivm.serve.http.door:HttpDoor",
    "flight": "ivm.serve.flight.door:FlightDoor",
    "postgres": "ivm.serve.postgres.door:PostgresDoor",
}
"""What makes each door, of the inside and a port; by the names of the ports in `Settings`."""


def door(name: str, inside: Inside, port: int) -> Door:
    """The door of a name, which is not open yet. Error if what it needs is not installed."""
    module, _, made = DOORS[name].partition(":")
    try:
        makes: _Makes = getattr(import_module(module), made)
    except ImportError as error:
        raise Error(
            f"cannot open the door {name}: {error}; install what it needs (pip install 'ivm-engine[serve]')"
        ) from error
    return makes(inside, port)
