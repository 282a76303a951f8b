"""Reasons for numbers of the paper that do not come out, shared by several claims."""

from __future__ import annotations

WINDOW = (
    "9 jobs/h is 118 % of the GPUs at proportional shares and 103 % with every demand met: both queues "
    "grow as long as jobs come, so the hours belong to the window and the draw (figure_9_draws)"
)
SORTED = (
    "Section 4.2 sorts by GPU, CPU and memory demand: CPU-hungry jobs meet on the first servers, and "
    "one is put back to its proportional share for each server on which jobs of one CPU come later; "
    "the released simulator does not sort"
)
PHILLY = (
    "demands and durations follow the law of the Philly trace and arrivals are Poisson at 1.1 times the "
    "GPUs; the paper takes the jobs submitted 2400 to 3000 h after the first, and the hours grow with the window"
)
FTF_ORDER = (
    "with the most delayed job first, as printed, short jobs wait little under either mechanism; the "
    "released order is the reverse, see the next rows"
)
