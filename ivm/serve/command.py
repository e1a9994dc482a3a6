"""`ivm serve PATH`: a database on disk, or an empty one in memory, for other processes."""

from __future__ import annotations

import logging
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import ivm
from ivm.catalog.errors import InterfaceError
from ivm.serve.process import begin_process, keep_what_is_there

if TYPE_CHECKING:
    from ivm.serve.users import User

TOKEN = "IVM_TOKEN"
app = typer.Typer(
    help="Serve a database by HTTP, Arrow Flight SQL and Postgres's protocol.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"allow_interspersed_args": True},  # options behind the path
)
_Port = Annotated[int | None, typer.Option(min=0, max=65535, help="A port for this door; 0 takes a free one.")]


@app.callback(invoke_without_command=True)
def serve_database(
    path: Annotated[
        Path | None, typer.Argument(help="A database's directory, made if it is not there; without it, in memory.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than the loopback need users.")
    ] = "127.0.0.1",
    http: _Port = 8080,
    flight: _Port = None,
    postgres: _Port = None,
    no_http: Annotated[bool, typer.Option("--no-http", help="Leave the door of HTTP closed.")] = False,
    users: Annotated[
        Path | None, typer.Option(help="A file of users, as `ivm user` prints them.", dir_okay=False)
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="A certificate in PEM form, for TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Web pages that may ask, by their origin; may be repeated.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only read it, beside a process that writes.")] = False,
    history: Annotated[int, typer.Option(min=0, help="How many times before the present clients may go back.")] = 1000,
    seconds: Annotated[float | None, typer.Option(help="How long a statement may take.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="How many rows an answer may have.")] = None,
    request_bytes: Annotated[int | None, typer.Option(min=1, help="How large a request may be.")] = None,
    connections: Annotated[int | None, typer.Option(min=1, help="How many clients a door holds.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say on stderr who comes and what is refused.")] = False,
) -> None:
    """Serve a database until Ctrl-C or SIGTERM; a token in IVM_TOKEN lets its holder do all."""
    begin_process()
    from ivm.serve.server import serve  # noqa: PLC0415  the engine, which help does not need
    from ivm.serve.settings import Limits, Settings  # noqa: PLC0415

    limits: dict[str, Any] = {
        "request_bytes": request_bytes,
        "result_rows": rows,
        "seconds": seconds,
        "connections": connections,
    }
    settings = Settings(
        host=host, http=None if no_http else http, flight=flight, postgres=postgres, users=_users(users),
        certificate=certificate, key=key, origins=tuple(origin or ()),
        limits=Limits(**{name: limit for name, limit in limits.items() if limit is not None}),
    )  # fmt: skip
    if not settings.ports:
        raise InterfaceError("cannot serve without a door; give a port with --http, --flight or --postgres")
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    say = Console(stderr=True, highlight=False, soft_wrap=True).print
    with ivm.connect(path, read_only=read_only, history=history) as db, serve(db, settings) as server:
        keep_what_is_there()
        for name, address in server.addresses.items():
            say(f"{name}: {address}", markup=False)
        say("serving " + ("a database in memory" if path is None else str(path)) + "; Ctrl-C ends it", markup=False)
        ended.wait()
        say("ending: nobody comes in any more, what is at work may finish")


def _users(file: Path | None) -> tuple[User, ...]:
    """Those of a file, and the holder of the token that the environment has."""
    from ivm.serve.users import read_users, user_with_token  # noqa: PLC0415  as above

    found = () if file is None else read_users(file)
    token = os.environ.get(TOKEN, "")
    return (*found, user_with_token("token", token, "write")) if token else found
