"""Whether somebody is who he says, without telling how near a guess was, and slower for who guesses."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from ivm.catalog.errors import Error
from ivm.serve.errors import DeniedError
from ivm.serve.scram import verifier
from ivm.serve.users import ANYBODY, User, hash_of

_WRONG_IN_A_ROW = 10
_PAUSE_SECONDS = 1.0
_MOST_WATCHED = 10_000


@dataclass(slots=True)
class _Guesses:
    """What one address has tried for one name: how many were wrong in a row, and when the next one is looked at."""

    wrong: int = 0
    next: float = 0.0


class Gate:
    """Knows the users. Thread-safe. Where there are none everybody comes in, and may do all."""

    def __init__(self, users: Sequence[User]) -> None:
        self._users = {user.name: user for user in users}
        self._nobody = verifier("", os.urandom(16))
        self._guesses: OrderedDict[tuple[str, str], _Guesses] = OrderedDict()
        self._right: dict[str, bytes] = {}
        self._secret = os.urandom(32)
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether there are no users, so that nobody has to say who he is."""
        return not self._users

    def user(self, name: str) -> User | None:
        """The user of a name; `ANYBODY` where there are none at all."""
        return ANYBODY if self.is_open else self._users.get(name)

    def pause(self, address: str, name: str = "") -> float:
        """The seconds to wait before what somebody says for a name is looked at; one after the other has to.

        Zero, unless that address has said what is wrong ten times in a row.
        """
        with self._lock:
            found, now = self._of(address, name), monotonic()
            if found.wrong < _WRONG_IN_A_ROW:
                return 0.0
            found.next = max(found.next, now) + _PAUSE_SECONDS
            return found.next - now

    def count(self, address: str, name: str, is_right: bool) -> None:
        """Remember how that ended."""
        with self._lock:
            found = self._of(address, name)
            found.wrong = 0 if is_right else found.wrong + 1

    def by_password(self, address: str, name: str, password: str) -> User:
        """The user of this name and password. DeniedError. Cost: some milliseconds, the first time."""
        user, proof = self.user(name), hmac.digest(self._secret, password.encode(errors="replace"), "sha256")
        if user is ANYBODY:
            return user
        known = self._right.get(name)
        is_right = known is not None and hmac.compare_digest(known, proof)
        if not is_right:  # who has no password takes as long
            kept = self._nobody if user is None or user.password is None else user.password
            is_right = kept.fits(password) and kept is not self._nobody
        self.count(address, name, is_right)
        if user is None or not is_right:
            raise self.denied()
        self._right[name] = proof
        return user

    def by_token(self, address: str, token: str) -> User:
        """The user who has this token. DeniedError."""
        if self.is_open:
            return ANYBODY
        given, found = hash_of(token), None
        for user in self._users.values():  # all of them, always
            if hmac.compare_digest(user.token.encode(), given.encode()):
                found = user
        self.count(address, "", found is not None)
        if found is None:
            raise self.denied()
        return found

    def denied(self) -> Error:
        """What is said to who is not let in, whatever the reason is."""
        return DeniedError("cannot come in: no such user, password or token; say one of those that the server knows")

    def _of(self, address: str, name: str) -> _Guesses:
        """The guesses for a name, those of which nobody has heard for long forgotten; the caller has the lock."""
        key = address, hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]
        found = self._guesses.setdefault(key, _Guesses())
        self._guesses.move_to_end(key)
        if len(self._guesses) > _MOST_WATCHED:
            self._guesses.popitem(last=False)
        return found
