"""The pages are built without a warning, and the notebook among them is executed."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ivm
import ivm.spark
from tests.house.modules import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    settings = ["-D", f"nb_execution_cache_path={place / 'notebooks'}", "-d", str(place / "doctrees")]
    done = subprocess.run(
        [*command, *settings, "docs", str(place / "html")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return place / "html"


def test_every_page_is_there(built: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (built / f"{page.stem}.html").is_file()


def test_the_notebook_was_executed(built: Path) -> None:
    text = (built / "live.html").read_text(encoding="utf-8")
    assert re.search(r'<img[^>]*src="_images/[0-9a-f]+\.png"', text)
    assert "largest_open" in text
    assert "[&#39;paid&#39;, &#39;largest_open&#39;]" in text or "['paid', 'largest_open']" in text


def test_pages_are_read_as_files(built: Path) -> None:
    """Nothing that is needed comes from the network, and links between pages name files."""
    for page in built.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://', text), page.name


def test_code_is_never_cut_off_and_can_be_copied(built: Path) -> None:
    style = (built / "_static" / "wide.css").read_text(encoding="utf-8")
    assert re.search(r"\.highlight pre \{ white-space: pre-wrap", style)
    for page in built.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "_static/wide.css" in text
        assert "_static/copybutton.js" in text


@pytest.mark.parametrize(("name", "function"), [("ivm.connect", ivm.connect), ("ivm.spark.connect", ivm.spark.connect)])
def test_the_parameters_of_connect_are_a_list(built: Path, name: str, function: Callable[..., object]) -> None:
    text = (built / "api.html").read_text(encoding="utf-8")
    (entry,) = re.findall(rf'<dt[^>]* id="{re.escape(name)}">.*?<dt[^>]* id="', text, flags=re.DOTALL)
    parameters = inspect.signature(function).parameters
    names = list(parameters)
    optional = [each for each in parameters.values() if each.default is not each.empty]
    assert re.findall(r"<li><p><strong>(\w+)</strong>", entry)[: len(names)] == names
    assert len(re.findall(r"Default:|\(default\)", entry)) == len(optional)


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\((docs/[^)#]*)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) >= 12
    assert all((ROOT / link).is_file() for link in links)
