"""What all doors of a server have in common: settings, users, limits, the command."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

import ivm
from ivm.catalog.errors import AccessError, BindError, InterfaceError, TypeMismatchError
from ivm.serve import Limits, Settings, serve, user_with_password, user_with_token
from ivm.serve.errors import CancelledError, DeniedError, LimitError
from ivm.serve.gate import Gate
from ivm.serve.inside import Inside
from ivm.serve.scram import read_verifier
from ivm.serve.users import User, as_toml, read_users
from tests.house.modules import ROOT

ADA = user_with_password("ada", "sesame", "write")
BOT = user_with_token("bot", "12345678", "read")


@pytest.fixture
def inside():
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR); INSERT INTO t VALUES (1, 'a')")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t; CREATE SEQUENCE numbers")
        found = Inside(db, Settings(http=None, limits=Limits(seconds=0.3, result_rows=1000)), Gate((ADA, BOT)))
        yield found
        found.watch.end()


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        ({"host": "0.0.0.0"}, AccessError, "users"),
        ({"http": 70000}, TypeMismatchError, "port of http"),
        ({"certificate": ROOT / "README.md"}, InterfaceError, "both"),
        ({"certificate": ROOT / "no", "key": ROOT / "no"}, InterfaceError, "no file"),
        ({"users": (ADA, ADA)}, InterfaceError, "one name"),
    ],
)
def test_settings_that_make_no_sense(wrong, kind, says):
    with pytest.raises(kind, match=says):
        Settings(**wrong)
    with pytest.raises(TypeMismatchError):
        Limits(connections=0)
    with ivm.connect(compile="off") as db, pytest.raises(InterfaceError, match="PEM form"):
        serve(db, Settings(certificate=ROOT / "README.md", key=ROOT / "README.md"))


def test_users_are_written_and_read(tmp_path):
    file = tmp_path / "users.toml"
    odd = User('o"d\\d', "read", ADA.password, BOT.token)
    file.write_text("".join(map(as_toml, (ADA, BOT, odd))))
    assert read_users(file) == (ADA, BOT, odd)
    assert "sesame" not in file.read_text()
    assert read_verifier(str(ADA.password)).fits("sesame")
    for wrong in (
        "[a]\nrole = 'read'",
        "[a]\ntoken = 'x'",
        "[a]\npassword = 'x'",
        "a = 1",
        "[",
        "[a]\nrole = 'all'\ntoken=''",
    ):
        file.write_text(wrong)
        with pytest.raises(ivm.Error):
            read_users(file)


def test_the_gate():
    gate = Gate((ADA, BOT))
    assert gate.by_password("here", "ada", "sesame") is gate.by_password("here", "ada", "sesame") is ADA
    assert gate.by_token("here", "12345678") is BOT
    for name, password in (("ada", "sesam"), ("bot", ""), ("eve", "sesame")):
        with pytest.raises(DeniedError):
            gate.by_password("there", name, password)
    for _ in range(10):
        assert gate.pause("there") == 0
        with pytest.raises(DeniedError):
            gate.by_token("there", "wrong")
    assert gate.pause("there") == pytest.approx(1, abs=0.1)
    assert gate.pause("there") == pytest.approx(2, abs=0.1)
    assert gate.pause("here") == gate.pause("there", "ada") == 0
    assert gate.by_token("there", "12345678") is BOT
    assert gate.pause("there") == 0


def test_sessions_have_transactions_settings_and_rights_of_their_own(inside):
    one, other, reader = inside.session(ADA), inside.session(ADA), inside.session(BOT)
    one.sql("BEGIN; INSERT INTO t VALUES (2, 'b')")
    assert one.sql("SELECT count(*) FROM t").fetchall() == [(2,)]
    done = []
    threading.Thread(target=lambda: done.append(one.sql("COMMIT"))).start()  # whatever thread it is
    while not done:
        time.sleep(0.001)
    assert other.sql("SELECT * FROM v").fetchall() == [(2,)]
    one.sql("BEGIN; DELETE FROM t")
    one.close()
    one.sql(
        "SET TimeZone = 'Asia/Tokyo'; CREATE SCHEMA s; USE s; PREPARE p AS SELECT 7 AS n; CREATE TABLE u (id INTEGER)"
    )
    assert one.sql("EXECUTE p").fetchall() == [(7,)]
    with pytest.raises(BindError):
        other.sql("EXECUTE p")
    assert other.sql("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    with pytest.raises(BindError, match="s"):
        other.sql("SELECT * FROM u")
    assert reader.sql("SELECT id FROM t ORDER BY id").fetchall() == [(1,), (2,)]
    for text in (
        "INSERT INTO t VALUES (9, '')", "UPDATE t SET s = 'x'", "DELETE FROM t WHERE id = 1", "CREATE TABLE x (id INTEGER)",
        "DROP VIEW v", "BEGIN; INSERT INTO t SELECT 9, ''", "ROLLBACK; SELECT nextval('numbers')", "CREATE TEMP TABLE x (i INTEGER)",
        "ALTER TABLE t ADD COLUMN z INTEGER", "TRUNCATE t", "MERGE INTO t USING (SELECT 1 AS id) AS o ON t.id = o.id WHEN MATCHED THEN DELETE",
        "WITH g AS (DELETE FROM t RETURNING *) SELECT * FROM g", "COPY t TO 'x.csv'", "CREATE SEQUENCE more",
    ):  # fmt: skip
        with pytest.raises(AccessError):
            reader.sql(text)
    with pytest.raises(AccessError, match="user bot"):
        reader.db.apply({"t": [{"id": 3, "s": ""}]})
    reader.db.close()
    assert inside.db.sql("SELECT count(*), max(s) FROM t").fetchall() == [(2, "b")]


def test_what_takes_too_long_or_too_much_room(inside):
    one, other = inside.session(ADA), inside.session(ADA)
    endless = "SELECT sum(a.range + b.range) FROM range(10000000) a, range(10000000) b"
    with pytest.raises(LimitError, match=r"0\.3 s"):
        one.sql(endless)
    with pytest.raises(LimitError, match="1,000"):
        one.sql("SELECT * FROM range(1001)")
    done: list[BaseException] = []

    def ask() -> None:
        try:
            one.sql(endless)
        except ivm.Error as error:
            done.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while one._running is None:
        time.sleep(0.001)
    assert other.sql("SELECT 1").fetchall() == [(1,)]
    one.cancel("nobody waits for it")
    asking.join()
    assert isinstance(done[0], CancelledError)
    assert one.sql("SELECT 1").fetchall() == [(1,)]


def test_a_server_opens_and_closes(inside):
    with serve(inside.db, Settings(http=0)) as server:
        with urllib.request.urlopen(server.addresses["http"] + "/health") as answer:
            assert json.load(answer) == {"status": "ok", "time": inside.db.time}
        port = int(server.addresses["http"].rpartition(":")[2])
        with pytest.raises(InterfaceError, match="port"):
            serve(inside.db, Settings(http=port))
    server.stop()
    with serve(inside.db, Settings(http=port)):
        pass


def test_the_command(tmp_path):
    command = [sys.executable, "-m", "ivm", "serve", str(tmp_path / "a.ivm"), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        address = process.stderr.readline().removeprefix("http: ").strip()
        assert "Ctrl-C" in process.stderr.readline()
        with urllib.request.urlopen(address + "/health") as answer:
            assert json.load(answer)["status"] == "ok"
        process.send_signal(signal.SIGTERM)
        assert "ending" in process.stderr.read()
        assert process.wait() == 0


def test_who_asks_by_http(inside):
    def ask(path: str, **headers: str) -> dict[str, str]:
        return json.load(urllib.request.urlopen(urllib.request.Request(address + path, headers=headers)))

    def refused(path: str, **headers: str) -> int:
        with pytest.raises(urllib.error.HTTPError) as raised:
            ask(path, **headers)
        with raised.value:
            return raised.value.code

    with serve(inside.db, Settings(http=0, users=(ADA, BOT), origins=("https://a.example",))) as server:
        address = server.addresses["http"]
        basic = base64.b64encode(b"ada:sesame").decode()
        assert ask("/me", Authorization=f"Basic {basic}") == {"name": "ada", "role": "write"}
        assert ask("/me", Authorization="bearer 12345678") == {"name": "bot", "role": "read"}
        assert ask("/me?access_token=12345678", Origin="https://a.example")["name"] == "bot"
        assert refused("/me?access_token=12345678", Origin="https://b.example") == 401
        for wrong in ("", "Basic x", "Basic eA==", "Bearer wrong", "Bearer ", "Digest y"):
            assert refused("/me", Authorization=wrong) == 401
        assert refused("/me") == 401
    with serve(inside.db, Settings(http=0)) as server:
        address = server.addresses["http"]
        assert ask("/me") == {"name": "", "role": "write"}
        assert refused("/me", Host="rebound.example") == refused("/me", Origin="https://b.example") == 401
