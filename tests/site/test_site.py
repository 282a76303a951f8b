"""The documentation as a site: no dead link, a search that works from files, quiet pages."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import open_quietly, start

pytest.importorskip("furo", reason="needs the extra 'docs'")
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("docs") / "site"
    run = subprocess.run(
        [sys.executable, ROOT / "docs" / "site" / "build.py", out], cwd=ROOT, capture_output=True,
        text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "xref_missing" not in run.stderr
    return out


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = start(tmp_path_factory)
    yield browser
    browser.close()


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id":
                self.ids.add(value)


def test_no_link_is_dead(site):
    parsed = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    dead = []
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (
                parts.fragment and target in parsed and parts.fragment not in parsed[target].ids
            ):
                dead.append(f"{path.name}: {link}")
    assert dead == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "name",
    ["index", "replay", "classroom", "gallery", "api/queueing", "replay-page", "classroom-page"],
)
def test_pages_in_a_browser(site, browser, name, width):
    open_quietly(browser, site / f"{name}.html", width)


def test_search_works_without_a_server(site, browser):
    browser.open((site / "search.html").as_uri() + "?q=processor-sharing")
    browser.complaints.clear()
    for _ in range(100):
        text = browser.run("document.querySelector('#search-results').textContent")
        if "Search finished" in text:
            break
        browser.run("new Promise((done) => setTimeout(done, 100))")
    assert "For a class" in text
    assert "policies.orders.processor_sharing" in text
    assert browser.complaints == []
