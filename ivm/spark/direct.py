"""The levels of a commit, and questions, by the keepers of all shards: no job of Spark's, and no wait for its cores.

What shards say to each other passes through the driver. That is little: what is large goes by files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from ivm.spark.home import Request
from ivm.spark.keepers import Keepers, Unreached
from ivm.spark.settings import is_encrypted, is_kept
from ivm.spark.worker import Frame, LevelTask, Read

_log = logging.getLogger("ivm")


def keepers_of(settings: Mapping[str, str]) -> Keepers | None:
    """Where keepers may call a driver with these settings; None if there are none, or messages may not go in clear."""
    if not is_kept(settings) or is_encrypted(settings):
        return None
    host = settings.get("spark.driver.host", "localhost")
    try:
        return Keepers(host, settings.get("spark.driver.bindAddress", host))
    except OSError as error:
        _log.warning("cannot listen for the processes of shards: %s; all commits are jobs of Spark's", error)
        return None


def run(
    keepers: Keepers, places: Mapping[int, str], stages: Iterable[LevelTask], given: Mapping[int, Sequence[bytes]]
) -> list[Frame]:
    """The statuses of all groups at all levels. `places`: where each group is; `given`: what the driver has for the
    first level, by group.

    Raises Unreached if a keeper does not answer: shards may have gone through any of the levels.
    """
    statuses: list[Frame] = []
    for stage in stages:
        asked = {
            place: Request(stage.carried_out, ({group: given.get(group, ()) for group in groups},))
            for place, groups in _by_place(places).items()
        }
        said: dict[int, list[bytes]] = {}
        for frames in keepers.ask(asked).values():
            for group, level, payload in frames:
                if level:
                    statuses.append((group, level, payload))
                else:
                    said.setdefault(group, []).append(payload)
        given = said
    return statuses


def read(keepers: Keepers, places: Mapping[int, str], what: Read) -> list[tuple[int, bytes]]:
    """What each shard has, by shard, as a stream of Arrow's IPC format. Raises Unreached as `run` does."""
    by_place = _by_place(places)
    answers = keepers.ask({place: Request(what.found, (shards,)) for place, shards in by_place.items()})
    found = [each for place, shards in by_place.items() for each in zip(shards, answers[place], strict=True)]
    return sorted(found)


def told(error: Unreached) -> None:
    """Say in the log why something becomes a job of Spark's after all."""
    _log.info("the processes of shards do not all answer, so Spark looks for them: %s", error)


def _by_place(places: Mapping[int, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number in sorted(places):
        found.setdefault(places[number], []).append(number)
    return found
