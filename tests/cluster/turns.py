"""Threads that take turns at the calls of a folder, as a seed has it."""

from __future__ import annotations

import threading
from functools import partial


class Died(BaseException):
    pass


class Turns:
    """Threads of which one runs at a time, from one call of a folder to the next; the seed says which."""

    def __init__(self, chance, dying=0.02):
        self.chance = chance
        self.dying = dying
        self.waiting = {}
        self.changed = threading.Condition()
        self.running = None

    def meet(self, call):
        me = threading.get_ident()
        with self.changed:
            if me in self.waiting:
                self.running = None
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.running == me)
        if me in self.waiting and self.chance.random() < self.dying:
            raise Died

    def are_waiting(self, count):
        return len(self.waiting) == count

    def run(self, tasks):
        def work(task):
            me = threading.get_ident()
            with self.changed:
                self.waiting[me] = task
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.running == me)
            try:
                task()
            finally:
                with self.changed:
                    del self.waiting[me]
                    self.running = None
                    self.changed.notify_all()

        threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
        for count, each in enumerate(threads, 1):
            each.start()
            with self.changed:  # so that they are in the same order each time
                self.changed.wait_for(partial(self.are_waiting, count))
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.running is None)
                if not self.waiting:
                    break
                self.running = self.chance.choice(list(self.waiting))
                self.changed.notify_all()
        for each in threads:
            each.join()
