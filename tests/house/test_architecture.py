"""ARCHITECTURE.md, and the pages that it points to, name what is there."""

from __future__ import annotations

import re

from tests.house.floors import PLACES
from tests.house.modules import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
PAGES = PAGE, *(ROOT / "ivm" / room / "README.md" for room in ("durable", "cluster", "serve", "dataflow"))


def test_every_file_and_folder_that_they_name_exists():
    text = "".join(page.read_text() for page in PAGES)
    named = re.findall(r"`([\w.]+/[\w./]*|\w+\.(?:md|lock))`", text)
    missing = sorted({name for name in named if not (ROOT / name).exists()})
    assert not missing, f"pages of the architecture name what is not there: {missing}"
    assert len(named) > 80


def test_every_place_of_the_house_is_in_its_table():
    table = PAGE.read_text().partition("| floor |")[2].partition("\n\n")[0]
    folders = [(ROOT / place.prefix.replace(".", "/")).resolve() for place in PLACES]
    names = [str(folder.relative_to(ROOT)) for folder in folders if folder.is_dir()]
    assert len(names) > 15
    assert [name for name in names if f"`{name}/`" not in table] == []


def test_every_folder_of_kernels_is_named():
    folders = {path.parent.name for path in (ROOT / "ivm" / "kernels").glob("*/__init__.py")}
    page = PAGE.read_text()
    assert not [folder for folder in folders if f"`{folder}`" not in page]
