"""The page that plays the events: one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import webpage
from experiments.replay.events import Recording, events_of

if TYPE_CHECKING:
    from simulator import Result

WEB = Path(__file__).parent / "web"
MODULES = tuple(
    WEB / name for name in ("text.js", "events.js", "scene.js", "curves.js", "player.js")
)
STYLES = (webpage.HERE / "base.css", WEB / "player.css")
MOST_SHARES_SHOWN = 20_000
"""A notebook shows the player of runs up to this size by itself; larger ones on request."""


def replay(
    results: Result | Recording | Sequence[Result | Recording],
    path: str | Path,
    title: str = "",
) -> Path:
    """Write a page that plays one run, or several on the same jobs side by side.

    Parameters
    ----------
    results : what to play.
    path : the HTML file to write.
    title : heading of the page; the names of the runs where empty.

    Raises
    ------
    InputError
        A run without its schedule, runs with other jobs, or a path that cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    recordings = [r if isinstance(r, Recording) else Recording.of(r) for r in several]
    return webpage.write(Path(path), player_html(recordings, title))


def player_html(recordings: Sequence[Recording], title: str = "") -> str:
    """The page as text."""
    events = events_of(recordings)
    heading = title or " and ".join(run["name"] for run in events["runs"])
    body = (WEB / "player_body.html").read_text(encoding="utf-8")
    return webpage.page(
        WEB / "player.html", STYLES, MODULES, events, title=heading, player=webpage.markup(body)
    )


def embedded_html(result: Result) -> str:
    """The player inside a frame, for notebooks; a note where the run is too long or was not kept."""
    if result.schedule is None:
        return "<p>No schedule was kept, so there is no replay.</p>"
    if len(result.schedule) > MOST_SHARES_SHOWN:
        return (
            f"<p>{len(result.schedule):,} shares: <code>replay(result, 'replay.html')</code> writes "
            "the replay as a page.</p>"
        )
    inside = html.escape(player_html([Recording.of(result)]), quote=True)
    return (
        f'<iframe title="Replay of {html.escape(result.policy, quote=True)}" srcdoc="{inside}" '
        'style="width:100%;height:760px;border:1px solid #d0d7de;border-radius:8px"></iframe>'
    )
