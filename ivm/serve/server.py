"""A database that is served: its doors, opened and closed together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from ivm.serve.door import Door, door
from ivm.serve.gate import Gate
from ivm.serve.inside import Inside, log
from ivm.serve.settings import Settings
from ivm.session.database import Database


class Server:
    """A database that others reach, until `stop`; made by `serve`. As a context manager it stops when the block ends.

    The database stays the application's: it goes on using it meanwhile, and closes it afterwards.
    """

    def __init__(self, inside: Inside, doors: Mapping[str, Door], stack: ExitStack) -> None:
        """`stack`: what ends all."""
        self._inside = inside
        self._doors = doors
        self._stack = stack

    @property
    def addresses(self) -> dict[str, str]:
        """Where each door listens, by its name: {"http": "http://127.0.0.1:8080"}."""
        return {name: each.address for name, each in self._doors.items()}

    @property
    def settings(self) -> Settings:
        """How it is served."""
        return self._inside.settings

    def stop(self) -> None:
        """Let nobody in any more, tell the clients, and let end what they have begun. Once is enough."""
        self._stack.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()


def serve(db: Database, settings: Settings | None = None) -> Server:
    """Let others reach a database, at the ports that the settings name; by HTTP at 8080 unless they say otherwise.

    Returns when all doors are open. They have threads of their own, and everybody a session of his own: transactions,
    settings, and a right to write or none. InterfaceError if a port cannot be had, and Error if a package is missing;
    then no door is open.
    """
    settings = settings or Settings()
    settings.tls()  # so that nothing is opened with files that are of no use
    inside, doors = Inside(db, settings, Gate(settings.users)), dict[str, Door]()
    opened = ExitStack()
    opened.callback(inside.watch.end)
    try:
        for name, port in settings.ports.items():
            made = door(name, inside, port)
            opened.callback(made.stop)
            made.start()
            doors[name] = made
            log.info("%s is open at %s", name, made.address, extra={"door": name, "address": made.address})
    except BaseException:
        opened.close()
        raise
    opened.callback(inside.ending.set)
    return Server(inside, doors, opened)
