"""Elimination of dependent joins: after it, a relation holds neither `Apply` nor `Outer`."""
