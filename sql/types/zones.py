"""Clocks of time zones, for literals: by what Python has of the IANA's data."""

from __future__ import annotations

from datetime import UTC as PYTHONS_UTC
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from ivm.catalog.names import suggestion
from ivm.catalog.zones import UTC

_UTC = ("UTC", "GMT", "ETC/UTC", "Z")
_OF_MACHINE = "localtime"
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@cache
def zone_names() -> dict[str, str]:
    """The names of zones, by how they are written in lower case; none where this machine has no list of them."""
    return {name.lower(): name for name in sorted(available_timezones() - {_OF_MACHINE})}


def zone_called(name: str) -> str:
    """The zone that is called so, in any case; UTC by any of its names. ValueError with near names if there is none."""
    zone = zone_names().get(name.lower())
    if zone is None:
        raise ValueError(no_zone(name))
    return UTC if is_utc(zone) else zone


def is_utc(name: str) -> bool:
    """Whether this is a name of UTC."""
    return name.upper() in _UTC


def no_zone(name: str) -> str:
    """What is wrong with a name that is none of a zone."""
    hint = suggestion(name, zone_names().values()) or "; write a name of the IANA's, such as 'Europe/Zurich'"
    return f"there is no time zone {name!r}{hint}"


def ahead(zone: str, shown: int) -> int:
    """The microseconds by which the clocks of a zone are ahead of UTC when they show this, of two that it may be the
    fewer, as in DuckDB. ValueError if there is no such zone, or Python has no such time.
    """
    name = zone_names().get(zone.lower())
    if name is None:
        raise ValueError(no_zone(zone))
    try:
        naive = _EPOCH + timedelta(microseconds=shown)
        offsets = [ZoneInfo(name).utcoffset(naive.replace(fold=fold)) for fold in (0, 1)]
    except OverflowError:
        raise ValueError(f"clocks of {zone} are not known for so far a time") from None
    return min(offset // _MICROSECOND for offset in offsets if offset is not None)


def shown_in(zone: str, moment: int) -> int:
    """What the clocks of a zone show at a moment, both in microseconds. ValueError as `ahead`."""
    try:
        at = (_EPOCH + timedelta(microseconds=moment)).replace(tzinfo=PYTHONS_UTC).astimezone(ZoneInfo(zone))
    except OverflowError:
        raise ValueError(f"clocks of {zone} are not known for so far a time") from None
    return (at.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
