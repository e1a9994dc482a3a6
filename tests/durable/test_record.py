import random

import pyarrow as pa
import pytest

import ivm
from ivm.storage.record import HEADER, Torn, records, written


def _log(payloads, settled=0):
    return b"".join(
        b"".join(map(bytes, written(1, number, min(settled, number - 1), [payload])))
        for number, payload in enumerate(payloads, start=1)
    )


def _read(data, first=1):
    found = list(records(pa.py_buffer(data), first, "the log"))
    whole = [each.payload.to_pybytes() for each in found if not isinstance(each, Torn)]
    torn = next((each for each in found if isinstance(each, Torn)), None)
    return whole, torn


def _read_or_refused(data):
    try:
        return _read(data)
    except ivm.StorageError:
        return "refused"


PAYLOADS = [b"", b"a", b"12345678", bytes(1000), b"ivmR" * 30]


def test_what_was_written_is_read():
    assert _read(_log(PAYLOADS)) == (PAYLOADS, None)
    assert _read(b"") == ([], None)


def test_of_a_log_that_ends_anywhere_the_whole_records_are_read():
    data, ends = _log(PAYLOADS, settled=99), [0]
    for payload in PAYLOADS:
        ends.append(ends[-1] + HEADER + len(payload) + -len(payload) % 8)
    for cut in range(len(data) + 1):
        whole = sum(end <= cut for end in ends) - 1
        found, torn = _read(data[:cut])
        assert found == PAYLOADS[:whole]
        assert (torn is None) == (cut in ends)
        assert torn is None or torn == (ends[whole], cut - ends[whole])


@pytest.mark.parametrize("left", [bytes(4096), b"\xff" * 100, random.Random(1).randbytes(3000), b"ivmR", b"ivmR" * 20])
def test_what_is_no_record_at_the_end_is_torn(left):
    found, torn = _read(_log(PAYLOADS) + left)
    assert found == PAYLOADS
    assert torn.bytes == len(left)


def test_each_bit_that_flips_in_what_was_settled_is_refused():
    data = _log(PAYLOADS, settled=99)
    last = HEADER + len(PAYLOADS[-1]) + -len(PAYLOADS[-1]) % 8
    chance = random.Random(2)
    for at in range(len(data) - last):
        broken = bytearray(data)
        broken[at] ^= 1 << chance.randrange(8)
        found = _read_or_refused(bytes(broken))
        assert found in ("refused", (PAYLOADS, None))  # nothing is said of what pads a record


def test_a_record_that_was_not_settled_may_be_missing_before_one_that_is_there():
    first, second = _log([b"first"]), b"".join(map(bytes, written(1, 2, 0, [b"second"])))
    assert _read(bytes(len(first)) + second) == ([], Torn(0, len(first) + len(second)))
    second = b"".join(map(bytes, written(1, 2, 1, [b"second"])))
    with pytest.raises(ivm.StorageError, match="record 1, at byte 0, is damaged"):
        _read(bytes(len(first)) + second)


def test_records_of_other_numbers_are_not_taken():
    assert _read(_log([b"old", b"older"]), first=7) == ([], Torn(0, len(_log([b"old", b"older"]))))
