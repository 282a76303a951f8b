"""Watch a run: its events as a small versioned table, and a page that plays them.

>>> result.replay("replay.html")                      # from Python; in a notebook it shows itself
>>> replay([fifo, srtf], "replay.html")               # several runs on the same jobs, in step

``schedlab replay DIR [DIR2 ..]`` does the same for folders. docs/replay.md describes the events.
"""

from experiments.replay.events import FORMAT, VERSION, events_of
from experiments.replay.folders import replay_folders
from experiments.replay.page import embedded_html, replay
from experiments.replay.recording import Recording, facts_of

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
