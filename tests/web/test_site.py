"""The documentation as a site: no dead link, a search that works from files, quiet pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import accessibility_faults, open_quietly

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


def pages_of(site: Path) -> list[Path]:
    """Every page of the site, by name; the reference's index of words is one of them."""
    return sorted(site.rglob("*.html"))


LINKS = """[...document.querySelectorAll('[href], [src]')].map((e) => e.href || e.src)
    .filter((url) => typeof url === 'string' && url.startsWith('file:'))"""
TARGETS = "[...document.querySelectorAll('[id]')].map((e) => e.id)"


def test_no_link_is_dead_in_a_browser(site, browser):
    """Links as the browser resolves them: each leads to a file, and to a place that the page has."""
    links: dict[Path, list[str]] = {}
    ids: dict[Path, set[str]] = {}
    for path in pages_of(site):
        open_quietly(browser, path)
        links[path] = browser.run(LINKS)
        ids[path] = set(browser.run(TARGETS))
    dead = []
    for path, found in links.items():
        for url in found:
            parts = urlsplit(url)
            target, place = Path(unquote(parts.path)), unquote(parts.fragment)
            if not target.exists() or (place and target in ids and place not in ids[target]):
                dead.append(f"{path.name}: {url}")
    assert sum(map(len, links.values())) > 500
    assert dead == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "classroom", "gallery", "api/queueing", "search"])
def test_no_serious_accessibility_fault(site, browser, name, theme):
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    browser.open((site / f"{name}.html").as_uri())
    assert accessibility_faults(browser) == []
    browser.call("Emulation.setEmulatedMedia", features=[])


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
    assert "policies.queues.orders.processor_sharing" in text
    assert browser.complaints == []
