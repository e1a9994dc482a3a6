"""Find the Java that Spark runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ivm.tpch.errors import SetupError

MINIMUM = 17
_PLACES = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/opt", "/Library/Java/JavaVirtualMachines")
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@cache
def java_home() -> Path:
    """The home of a Java of at least version 17: by JAVA_HOME, else by PATH, else the newest in the usual places.

    Raises SetupError, one line that says what to install. Cost: one run of `java -version` per candidate.
    """
    found: list[str] = []
    for home in dict.fromkeys(_places()):
        version = _version(home)
        if version >= MINIMUM:
            return home
        if version:
            found.append(f"Java {version} in {home}")
    seen = f" (found only {', '.join(found)})" if found else ""
    raise SetupError(
        f"Spark, which also generates TPC-H streams, needs Java {MINIMUM} or later{seen}: install it "
        f"(Debian/Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME"
    )


def _places() -> Iterator[Path]:
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for place in map(Path, _PLACES):
        children = sorted(place.iterdir(), reverse=True) if place.is_dir() else []
        for child in children:
            yield child
            yield child / "Contents" / "Home"


def _version(home: Path) -> int:
    """The major version of the Java in `home`, 0 if there is none that runs."""
    try:
        command = [str(home / "bin" / "java"), "-version"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(done.stderr)
    return int(match[1]) if match and done.returncode == 0 else 0
