"""The door of Postgres's protocol: one thread that hears and tells all clients, and others that do what they say."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from ivm.catalog.errors import Error, InterfaceError
from ivm.serve.inside import Inside, log
from ivm.serve.postgres.connection import Connection
from ivm.serve.postgres.errors import SHUTDOWN, TOO_MANY, SqlStateError, error_message
from ivm.serve.postgres.messages import MalformedError
from ivm.serve.postgres.session import PgSession
from ivm.serve.postgres.startup import SECONDS, Cancel, Streams, known, wanted
from ivm.serve.postgres.turns import Turns

_THREADS = 64
_SECONDS_TO_END = 30.0
"""So long what is at work may take when the door closes."""


class PostgresDoor:
    """What listens for clients of Postgres; see `ivm.serve.door.Door`."""

    def __init__(self, inside: Inside, port: int) -> None:
        self._inside, self._port = inside, port
        self._threads = ThreadPoolExecutor(_THREADS, "ivm-postgres")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: asyncio.Server | None = None
        self._numbers = itertools.count(1)
        self._connections: dict[int, Connection] = {}
        self._turns = Turns()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """Where it listens, as libpq takes it."""
        return f"postgresql://{self._inside.settings.host}:{self._port}"

    def start(self) -> None:
        """Listen. InterfaceError if the port is taken."""
        begun, failure = threading.Event(), list[BaseException]()
        self._thread = threading.Thread(target=self._run, args=(begun, failure), name="ivm-postgres-loop", daemon=True)
        self._thread.start()
        begun.wait()
        if failure:
            self._thread.join()
            where = f"{self._inside.settings.host}:{self._port}"
            raise InterfaceError(f"cannot listen at {where}: {failure[0]}; give another port, or 0") from failure[0]

    def stop(self) -> None:
        """Let nobody in any more, and end all connections; a statement that is at work may finish."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
        self._threads.shutdown()

    def _run(self, begun: threading.Event, failure: list[BaseException]) -> None:
        self._loop = loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._listen(self._inside.settings.tls()))
        except (OSError, Error) as error:
            failure.append(error)
        finally:
            begun.set()
        if not failure:
            loop.run_forever()
        loop.close()

    async def _listen(self, tls: ssl.SSLContext | None) -> None:
        heard = partial(self._heard, tls)
        settings = self._inside.settings
        self._server = await asyncio.start_server(heard, settings.host, self._port, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        for each in list(self._tasks):
            each.cancel()
        if self._tasks:
            _, left = await asyncio.wait(self._tasks, timeout=_SECONDS_TO_END)
            for connection in list(self._connections.values()) if left else ():
                connection.cancel("the server ends")
            if left:
                await asyncio.wait(left, timeout=_SECONDS_TO_END)

    async def _heard(
        self, tls: ssl.SSLContext | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None, "each connection is one"
        self._tasks.add(task)
        streams = Streams(reader, writer)
        try:
            await self._served(tls, streams)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError):
            pass  # the client has gone
        except asyncio.CancelledError:
            self._say(streams, SqlStateError(SHUTDOWN, "the server ends; connect again later"))
        except (Error, MalformedError) as error:
            self._say(streams, error)
        except Exception as error:  # noqa: BLE001  whatever it is, the client is told, and others go on
            log.exception("a fault of the door of Postgres")
            self._say(streams, error)
        finally:
            self._tasks.discard(task)
            with suppress(ConnectionError, RuntimeError):
                writer.close()

    @staticmethod
    def _say(streams: Streams, error: Exception) -> None:
        with suppress(ConnectionError, RuntimeError):
            streams.write(error_message(error, severity="FATAL"))
            streams.push()

    async def _served(self, tls: ssl.SSLContext | None, streams: Streams) -> None:
        address = str((streams.writer.get_extra_info("peername") or ("",))[0])
        async with asyncio.timeout(SECONDS):
            said = await wanted(streams, tls)
            if isinstance(said, Cancel):
                self._cancel(said)
                return
            if len(self._connections) >= self._inside.settings.limits.connections:
                raise SqlStateError(
                    TOO_MANY, "too many clients are connected; close some, or serve with a larger limit"
                )
            user = await known(streams, said["user"], self._inside.gate, address)
        process = next(self._numbers)
        seconds = self._inside.settings.limits.seconds
        session = PgSession(self._inside.session(user), said["user"], process, seconds)
        connection = Connection(streams, session, self._inside, self._threads, process, self._turns)
        self._connections[process] = connection
        self._inside.meter.add("ivm_postgres_connections")
        log.info("a client of Postgres has come", extra={"user": said["user"], "address": address})
        try:
            session.start(said)
            await connection.run()
        finally:
            del self._connections[process]
            self._inside.meter.add("ivm_postgres_connections", -1)
            await connection.end()

    def _cancel(self, said: Cancel) -> None:
        found = self._connections.get(said.process)
        if found is not None and hmac.compare_digest(found.secret, said.secret):
            found.cancel("it was cancelled")
