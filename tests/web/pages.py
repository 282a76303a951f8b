"""Checks of every page, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def start(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    return Browser(tmp_path_factory.mktemp("profile"))


def open_quietly(browser: Browser, path: Path, width: int = 1280) -> None:
    """Open the page; nothing to complain of, nothing loaded from elsewhere, nothing cut off."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(path.as_uri(), width)
    settle(browser)
    check_quiet(browser)


def check_quiet(browser: Browser) -> None:
    assert browser.complaints == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in browser.requests)
    wide = browser.run("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], "the page scrolls sideways"


def settle(browser: Browser) -> None:
    """Two frames: what was changed has been drawn."""
    browser.run(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
    )


def key(browser: Browser, name: str, shift: bool = False) -> None:
    """Press and release a key, as a keyboard does."""
    text = name if len(name) == 1 else ""
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=name, modifiers=8 if shift else 0,
            **({"text": text} if kind == "keyDown" and text else {}),
        )  # fmt: skip


def accessibility_faults(browser: Browser) -> list[str]:
    """Serious and critical faults that axe-core finds; skips where it is not installed."""
    if not AXE.exists():
        pytest.skip("needs axe-core (make page-checks)")
    browser.run(AXE.read_text(encoding="utf-8") + "; 1")
    found = browser.run(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify("
        "r.violations.map((v) => [v.impact, v.id, v.nodes[0].html.slice(0, 200)])))"
    )
    return [" ".join(map(str, v)) for v in json.loads(found) if v[0] in ("serious", "critical")]
