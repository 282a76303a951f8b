"""Watch a run: its events as a small versioned table, and a page that plays them.

>>> replay(result, "replay.html")                     # one run
>>> replay([fifo, srtf], "replay.html")               # several runs on the same jobs, in step

``schedlab show replay DIR [DIR2 ..]`` does the same for folders. In a notebook that has imported this package, a result
shows its player. docs/replay.md describes the events.
"""

from experiments.replay.events import FORMAT, VERSION, Recording, events_of, facts_of
from experiments.replay.folders import replay_folders
from experiments.replay.page import embedded_html, replay
from simulator import Result

__all__ = [
    "FORMAT",
    "VERSION",
    "Recording",
    "embedded_html",
    "events_of",
    "facts_of",
    "replay",
    "replay_folders",
]

if embedded_html not in Result.views:
    Result.views.append(embedded_html)
