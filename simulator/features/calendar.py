"""Hours in which jobs may start, in a scenario file: [calendar].

[calendar]
begins = "2024-01-01 00:00"
rules = [{ longer_than_s = 14400, start = "mon-fri 18:00-08:00, sat-sun" }]

A job that asks for more than four hours starts at night or at a weekend; others start at any time. Outside the hours, a job
that has not started yet is set aside: policies do not see it. When its hours begin, it is back in the queue, in order of
submission.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from simpy.events import ProcessGenerator

from simulator.core.clock import EventOrder
from simulator.core.controller import Controller
from simulator.core.feature import Feature, FeatureRecord
from simulator.core.plan import DecisionPlan
from simulator.core.simulation import Simulation
from simulator.errors import InputError
from simulator.features.table import FeatureTable, Scene
from simulator.files.keys import Config, KeyedError, NonNegative, PositiveInt, at_key
from simulator.model.workload import Workload

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY, WEEK = 24 * 60, 7 * 24 * 60
"""Minutes."""
LAST_YEAR = 9000
"""The last year in which hours begin; a clock that comes so far does not count seconds."""
HOURS = 'hours such as "mon-fri 18:00-08:00, sat-sun"'
_HOURS = re.compile(
    r"(?:([a-z]{3})(?:-([a-z]{3}))?)? ?(?:(\d\d?):(\d\d)-(\d\d?):(\d\d))?", re.ASCII
)

Hours = Sequence[tuple[int, int]]
"""From when until when, minutes after Monday 0:00, ascending and apart; the end may lie in the next week."""


def parse_hours(text: str) -> Hours:
    """The hours of a week; those over midnight belong to the day on which they begin.

    Raises InputError: a text that names none.
    """
    spans: list[tuple[int, int]] = []
    for part in text.lower().split(","):
        found = _HOURS.fullmatch(part.strip())
        if not found or not part.strip():
            raise InputError(f"got {text!r}, expected {HOURS}")
        first, last, *clock = found.groups()
        if {first, last} - {None, *DAYS}:
            raise InputError(f"got {text!r}, expected days among {', '.join(DAYS)}")
        begin, end = _minutes(text, clock)
        days = range(7)
        if first is not None:
            at = DAYS.index(first)
            days = range(at, at + (DAYS.index(last or first) - at) % 7 + 1)
        spans += [(day % 7 * DAY + begin, day % 7 * DAY + end) for day in days]
    return _joined(spans)


def _minutes(text: str, clock: Sequence[str | None]) -> tuple[int, int]:
    if clock[0] is None:
        return 0, DAY
    h1, m1, h2, m2 = (int(each or 0) for each in clock)
    begin, end = h1 * 60 + m1, h2 * 60 + m2
    if max(m1, m2) > 59 or max(begin, end) > DAY:
        raise InputError(f"got {text!r}, expected times of day from 00:00 to 24:00")
    return begin, end if end > begin else end + DAY


def _joined(spans: Iterable[tuple[int, int]]) -> Hours:
    """Spans in order, those that touch or overlap as one; the whole week as one of a week."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    while len(found) > 1 and found[-1][1] >= found[0][0] + WEEK:  # Sunday night goes into Monday
        begin, end = found.pop()
        found[0] = begin - WEEK, max(found[0][1], end - WEEK)
    begin, end = found[0]
    return [(0, WEEK)] if end - begin >= WEEK else found


@dataclass(frozen=True)
class StartRule:
    """Jobs that may start in some hours only.

    Attributes
    ----------
    jobs : ``(J,)`` whether it is a job's rule.
    hours : when its jobs may start.
    """

    jobs: npt.NDArray[np.bool_]
    hours: Hours


class Calendar(Feature):
    """Jobs that have not started yet are set aside outside their hours.

    Parameters
    ----------
    begins : date and time of the clock's 0, with its time zone.
    """

    name = "calendar"

    def __init__(self, rules: Sequence[StartRule], begins: datetime) -> None:
        self.rules, self.begins = rules, begins

    def attach(self, simulation: Simulation) -> None:
        """Begin a process for each rule."""
        self._simulation = simulation
        self._is_open = [False] * len(self.rules)
        self._aside: dict[int, Controller] = {}
        self._ever_aside: set[int] = set()
        for r, rule in enumerate(self.rules):
            spans = open_spans(rule.hours, self.begins, simulation.begin_s)
            simulation.clock.process(self._opens_and_closes(r, spans))

    def _opens_and_closes(self, r: int, spans: Iterator[tuple[float, float]]) -> ProcessGenerator:
        """SimPy process: hours begin and end."""
        clock = self._simulation.clock
        for open_s, close_s in spans:
            if open_s > clock.now:
                yield clock.at(open_s, EventOrder.OUTAGE)
            self._is_open[r] = True
            self._put_back()
            yield clock.at(close_s, EventOrder.OUTAGE)
            self._is_open[r] = False
            for controller in self._simulation.controllers:
                for job in [*controller.waiting, *controller.aside]:
                    self._set_aside(controller, job)

    def may_start(self, job: int) -> bool:
        """Whether all rules of a job let it start now."""
        return all(is_open or not rule.jobs[job] for rule, is_open in zip(self.rules, self._is_open, strict=True))  # fmt: skip

    def on_submit(self, controller: Controller, job: int) -> None:
        """Set a job aside that comes outside its hours."""
        self._set_aside(controller, job)

    def _set_aside(self, controller: Controller, job: int) -> None:
        if job in self._aside:
            return
        has_started = not math.isnan(controller.jobs.first_start_s[job])
        if not has_started and not self.may_start(job):
            controller.set_aside(job)
            self._aside[job] = controller
            self._ever_aside.add(job)

    def _put_back(self) -> None:
        back: dict[Controller, list[int]] = {}
        for job in sorted(self._aside):
            if job in self._simulation.reneged:
                del self._aside[job]
            elif self.may_start(job):
                back.setdefault(self._aside.pop(job), []).append(job)
        for controller, jobs in back.items():
            controller.put_back(jobs)

    def has_room(self, controller: Controller, job: int, plan: DecisionPlan) -> bool:
        """Whether a job of an older plan may still start."""
        return job not in self._aside

    def record(self, end_s: float) -> CalendarRecord:
        """Number of jobs that were set aside."""
        return CalendarRecord(len(self._ever_aside))


@dataclass(frozen=True)
class CalendarRecord(FeatureRecord):
    """Jobs that had to wait for their hours."""

    num_jobs: int

    def scalars(self, run: object) -> dict[str, float | int | str | None]:
        """Their number."""
        return {"jobs_outside_hours": self.num_jobs}


def open_spans(hours: Hours, begins: datetime, begin_s: float) -> Iterator[tuple[float, float]]:
    """From when until when hours last, s after ``begins``, for ever, without those that are over at ``begin_s``."""
    zone, zero_s = begins.tzinfo, begins.timestamp()
    if begin_s > (LAST_YEAR - begins.year) * 366 * DAY * 60.0:
        raise InputError(
            f"calendar: the clock begins at {begin_s:g} s, expected seconds since {begins:%Y-%m-%d}"
        )
    first = (begins + timedelta(seconds=begin_s)).astimezone(zone).replace(tzinfo=None)
    monday = datetime.combine(first.date(), datetime.min.time()) - timedelta(
        days=first.weekday() + 7
    )
    if hours == [(0, WEEK)]:
        yield begin_s, math.inf
        return
    while monday.year < LAST_YEAR:
        for span in hours:
            open_s, close_s = (_at(monday, minutes, zone) - zero_s for minutes in span)
            if close_s > begin_s:
                yield open_s, close_s
        monday += timedelta(weeks=1)


def _at(monday: datetime, minutes: int, zone: tzinfo | None) -> float:
    """Seconds since 1970 at which the clocks of a zone show so many minutes after a Monday."""
    return (monday + timedelta(minutes=minutes)).replace(tzinfo=zone).timestamp()


def _expect_common_hours(rules: Sequence[StartRule], workload: Workload) -> None:
    """`InputError` where the rules of a job have no hour together, so that it would wait for ever."""
    own = np.array([rule.jobs for rule in rules])
    week = np.zeros((len(rules), WEEK), dtype=np.bool_)
    for r, rule in enumerate(rules):
        for begin, end in rule.hours:
            week[r, np.arange(begin, end) % WEEK] = True
    for who in np.unique(own, axis=1).T:
        if who.any() and not week[who].all(axis=0).any():
            job = int((who == own.T).all(axis=1).argmax())
            raise KeyedError(
                "calendar.rules",
                f"job {workload.job_id[job]!r} keeps to rules {' and '.join(map(str, np.flatnonzero(who)))}, which have no hour "
                "together; expected hours that overlap",
            )


class CalendarRule(Config):
    """A rule: which jobs, and when they may start."""

    start: str = Field(examples=["mon-fri 18:00-08:00, sat-sun"])
    """hours in which these jobs may start"""
    longer_than_s: NonNegative = 0.0
    """jobs that ask for more time than this, s; where a job asks for none, its duration counts"""
    least_gpus: PositiveInt = 1
    """jobs of so many GPUs or more"""
    vc: list[str] = Field(default_factory=list, examples=[["long"]])
    """jobs of these virtual clusters, partitions or queues; none: of all"""

    def made(self, workload: Workload) -> StartRule:
        """The rule of these jobs."""
        fixed_s = workload.performance.fixed_s
        asked_s = np.array(workload.requested_s)
        if fixed_s is not None:
            asked_s = np.where(np.isnan(asked_s), fixed_s, asked_s)
        jobs = (workload.num_gpus >= self.least_gpus) | (self.least_gpus == 1)
        if self.longer_than_s:
            jobs &= asked_s > self.longer_than_s
        if self.vc:
            jobs &= np.isin(np.array(workload.vc, dtype=object), self.vc)
        return StartRule(jobs, parse_hours(self.start))


class CalendarKeys(FeatureTable):
    """Hours of the day and days of the week in which some jobs may start."""

    table: ClassVar[str] = "calendar"

    rules: list[CalendarRule] = Field(
        min_length=1, examples=[[{"longer_than_s": 14400, "start": "mon-fri 18:00-08:00, sat-sun"}]]
    )
    """which jobs may start when; a job keeps to all rules that are its own"""
    begins: str | None = Field(default=None, examples=["2024-01-01 00:00"])
    """date and time of the clock's 0, as clocks of the site show it; not given: that of the log"""

    def make(self, scene: Scene) -> Calendar:
        """The calendar."""
        begins, rules = self._begins(scene), []
        for r, rule in enumerate(self.rules):
            with at_key(f"calendar.rules[{r}].start"):
                rules.append(rule.made(scene.workload))
        _expect_common_hours(rules, scene.workload)
        return Calendar(rules, begins)

    def _begins(self, scene: Scene) -> datetime:
        if self.begins is None:
            if math.isnan(scene.origin_s):
                raise KeyedError(
                    "calendar.begins", 'missing, and the jobs have no dates; expected a date and time, "2024-01-01 00:00"'
                )  # fmt: skip
            return datetime.fromtimestamp(scene.origin_s, UTC)
        try:
            found = datetime.fromisoformat(self.begins)
        except ValueError:
            raise KeyedError(
                "calendar.begins",
                f'got {self.begins!r}, expected a date and time, "2024-01-01 00:00"',
            ) from None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def notes(self, scene: Scene) -> Iterable[str]:
        """Rules of no job, and rules that are no limit."""
        for r, rule in enumerate(self.make(scene).rules):
            if not rule.jobs.any():
                yield f"calendar.rules[{r}]: it is a rule of no job; no effect"
            elif rule.hours == [(0, WEEK)]:
                yield f"calendar.rules[{r}]: its hours are the whole week; no effect"
