"""Files whose checksums are right and whose content is not what ivm writes: refused, or opened, and nothing else."""

from __future__ import annotations

import json
import random
import struct
import zlib

import pytest

import ivm
from ivm.storage.record import written
from tests.durable.opening import killed
from tests.durable.workload import begin, steps

_WRONG: list[object] = [None, -1, 10**30, 2**63, "", "x", "../x-1.arrows", [], {}, [[]], True, 1.5, "sale", 0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of a database with a checkpoint and a log."""
    place = tmp_path_factory.mktemp("whole")
    with ivm.connect(place / "shop.ivm", compile="off", durability="off") as db:
        begin(db)
        for number, step in enumerate(steps(1, 30)):
            step(db)
            if number == 12:
                db.sql("CHECKPOINT")
        return {each.name: each.read_bytes() for each in killed(db, place / "shop.ivm", place / "killed.ivm").iterdir()}


def _open(files, path):
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    try:
        ivm.connect(path, compile="off", read_only=True).close()
    except ivm.Error as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ["manifest", "file", "head", "record"])
def test_content_that_nobody_wrote(whole, tmp_path, kind, caplog):
    refused = 0
    for seed in range(40 if kind == "file" else 25):  # of which not each is read
        chance = random.Random(f"{kind} {seed}")
        said = _open(whole | MUTATIONS[kind](whole, chance), tmp_path / f"{seed}.ivm")
        refused += bool(said)
    assert refused > 3


def _change(value, chance):
    """Some value within JSON, replaced or taken away."""
    inside = value
    while isinstance(inside, dict | list) and inside:
        holder, key = inside, chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        inside = holder[key]
        if chance.random() < 0.3:
            break
    holder[key] = chance.choice(_WRONG)


def _scratched(data, chance, first=0):
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(first, len(data))] = chance.choice([0, 255, 127, 128, chance.randrange(256)])
    return bytes(data)


def _manifest(files, chance, change=_change):
    manifest = json.loads(files["MANIFEST"].split(b"\n", 1)[1])
    change(manifest, chance)
    text = json.dumps(manifest).encode()
    return {"MANIFEST": b"ivm database, format 1, crc32 %08x\n" % zlib.crc32(text) + text}


def _file(files, chance):
    name = chance.choice([each for each in files if each.endswith(".arrows")])
    content, found = _scratched(files[name], chance), list[str]()

    def change(value, chance):
        if isinstance(value, dict) and value.get("file") == name:
            value["crc"] = zlib.crc32(content)
            found.append(name)
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            change(each, chance)

    made = _manifest(files, chance, change)
    assert found
    return made | {name: content}


def _payload(files, chance, change):
    name = max(each for each in files if each.endswith(".log"))
    made, at, data, number = [], 0, files[name], int(name[:20])
    ends = []
    while at < len(data):
        kind, size = struct.unpack_from("<6xHQ", data, at)
        ends.append((kind, data[at + 40 : at + 40 + size]))
        at += 40 + size + -size % 8
    chosen = chance.randrange(len(ends))
    for place, (kind, payload) in enumerate(ends):
        made += written(kind, number + place, 0, [change(payload, chance) if place == chosen else payload])
    return {name: b"".join(map(bytes, made))}


def _head(payload, chance):
    length = int.from_bytes(payload[:4], "little")
    head = json.loads(payload[4 : 4 + length])
    _change(head, chance)
    text = json.dumps(head).encode()
    begun = len(text).to_bytes(4, "little") + text
    return begun + bytes(-len(begun) % 8) + payload[4 + length + -(4 + length) % 8 :]


MUTATIONS = {
    "manifest": _manifest,
    "file": _file,
    "head": lambda files, chance: _payload(files, chance, _head),
    "record": lambda files, chance: _payload(files, chance, _scratched),
}
