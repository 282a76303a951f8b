"""Any scenario of jobs of fixed demand as a Gymnasium environment (extra ``rl``).

    env = SchedulingEnv(scenario)             # a Scenario, or the path of a scenario file
    observation, info = env.reset(seed=1)     # the seed draws the jobs, too
    observation, reward, terminated, truncated, info = env.step(action)

At each decision point the agent starts waiting jobs one by one: action ``i < K`` starts the i-th of the
first K waiting jobs, action K ends the decision. ``info["action_mask"]`` says which are possible. All tables
of the scenario are in force, failures among them. The reward of a step is minus what was spent since the step
before: job-hours in the system, so that an episode's return is minus the sum of all completion times (h);
or money (``reward="cost"``), so that it is minus the total cost of the run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from greenlet import getcurrent, greenlet

from experiments.learning.spending import SPENT, Spent
from experiments.scenario.build import build
from experiments.scenario.run import run
from experiments.scenario.schema import Scenario, read_scenario
from policies.queues.free_capacity import FreeCapacity
from policies.wrappers.learned import FEATURES, features
from simulator import NO_CHANGE, Decision, InputError, Placement, Result, View

FloatObservation = npt.NDArray[np.float32]
ON_JOB = len(FEATURES) + 1
"""Numbers a job: its features, and whether it fits."""


class _Stopped(Exception):
    """The episode was abandoned."""


class _Agent:
    """The policy inside the simulation: it hands views out and waits for decisions.

    The simulation is a greenlet: to go from it to the caller and back takes about a microsecond. Two threads that
    wait for each other would take half of each step.
    """

    name = "agent"

    def __deepcopy__(self, memo: Any) -> _Agent:
        return self  # the one with which the environment talks

    def decide(self, view: View) -> Decision:
        """Ask the agent; nothing to decide where no job can be started."""
        answer: Decision | None = getcurrent().parent.switch(view)
        if answer is None:
            raise _Stopped
        return answer


class SchedulingEnv(gymnasium.Env[FloatObservation, int]):  # type: ignore[misc]
    """One scenario as an environment; an episode stays in the thread that began it.

    Parameters
    ----------
    scenario : a `Scenario`, or the path of a scenario file; its policy is not used.
    window : ``K``, how many waiting jobs the agent sees and may choose from.
    reward : minus what: "time" (job-hours in the system) or "cost" (leasing, energy and tardiness, as in
        ``total_cost``).
    record : keep what ran where and when, so that `result` can be drawn and replayed.

    Attributes
    ----------
    result : of the last episode that came to its end.

    Raises
    ------
    InputError
        Jobs without a fixed demand, machines other than nodes of fixed types, several controllers, or
        decisions in rounds.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | str | Path,
        window: int = 16,
        reward: str = "time",
        record: bool = False,
    ) -> None:
        self.scenario = (
            scenario if isinstance(scenario, Scenario) else read_scenario(Path(scenario))
        )
        if self.scenario.decisions.round_s is not None:
            raise InputError(
                "decisions.round_s: given, expected decisions at arrivals and completions"
            )
        if window < 1:
            raise InputError(f"window is {window}, expected at least 1")
        if reward not in SPENT:
            raise InputError(f"reward is {reward!r}, expected one of {', '.join(SPENT)}")
        self.window, self.reward, self.record = window, reward, record
        self.result: Result | None = None
        self._seed = self.scenario.seed
        self._simulation: greenlet | None = None
        self._prepare()
        levels = self._cluster.max_gpus_per_node + 1
        size = window * ON_JOB + levels + 2
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(window + 1)

    def _prepare(self) -> None:
        self._seeded = self.scenario.model_copy(update={"seed": self._seed})
        self._workload, self._cluster = build(self._seeded)
        if (
            not self._workload.num_gpus.all()
            or self._cluster.is_configurable
            or self._cluster.is_pool
        ):
            raise InputError("environment: expected jobs of fixed demand on nodes of fixed types")
        if self._cluster.num_controllers != 1:
            raise InputError("cluster.num_controllers: expected 1 in an environment")
        if self._workload.patience_s is not None:
            raise InputError("workload.patience: expected jobs that stay in an environment")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatObservation, dict[str, Any]]:
        """Begin an episode; with a seed on the jobs of that seed, else on the same as before."""
        super().reset(seed=seed)
        self.close()
        if seed is not None and seed != self._seed:
            self._seed = seed
            self._prepare()
        self._agent = _Agent()
        self.result = None
        self._spent: Spent = SPENT[self.reward](self._workload, self._cluster)
        self._charged = 0.0
        self._simulation = greenlet(self._simulate)
        self._next_view(self._simulation.switch())
        return self._observe(), self._info()

    def _simulate(self) -> None:
        """The whole run; each decision point is a switch to the caller with a view, its end is one with None."""
        built = (self._workload, self._cluster)
        with contextlib.suppress(_Stopped):
            self.result = run(self._seeded, self.record, agent=self._agent, built=built)

    def _next_view(self, view: View | None) -> None:
        """From this decision point to the next at which some job can be started; None: the episode is over."""
        while True:
            self._view = view
            self._placements: list[Placement] = []
            if view is None:
                return
            self._capacity = FreeCapacity(view)
            self._spent.look(view)
            self._list()
            if self._mask[:-1].any():
                return
            view = self._answer(NO_CHANGE)

    def _answer(self, decision: Decision) -> View | None:
        """Let the simulation go on to its next decision point; an error in it is raised here."""
        assert self._view is not None
        assert self._simulation is not None
        self._spent.decided(self._view, decision.shares())
        self._simulation.parent = getcurrent()
        view: View | None = self._simulation.switch(decision)
        return view

    def _list(self) -> None:
        """The jobs that the agent sees, and which of them fit."""
        assert self._view is not None
        taken = {p.job for p in self._placements}
        self._jobs = [j for j in self._view.waiting if j not in taken][: self.window]
        gpus = self._workload.num_gpus[self._jobs] if self._jobs else np.zeros(0)
        self._mask = np.zeros(self.window + 1, dtype=np.int8)
        self._mask[: len(self._jobs)] = gpus <= self._capacity.total_gpus
        self._mask[-1] = 1

    def step(self, action: int) -> tuple[FloatObservation, float, bool, bool, dict[str, Any]]:
        """Start a job, or end this decision. An action that is not possible ends the decision, too."""
        if self._view is None:
            raise InputError("step: the episode is over, expected reset")
        started = False
        if action < len(self._jobs) and self._mask[action]:
            shares = self._capacity.take(self._jobs[action])
            self._placements += shares
            started = bool(shares)
        if started:
            self._list()
        if not started or not self._mask[:-1].any():
            self._next_view(self._answer(Decision(tuple(self._placements), keep_running=True)))
        over = self._view is None
        if over:
            assert self.result is not None
            self._spent.close(self.result)
        spent, self._charged = self._spent.so_far - self._charged, self._spent.so_far
        return self._observe(), -spent, over, False, self._info()

    def _observe(self) -> FloatObservation:
        seen = np.zeros(self.observation_space.shape or (0,), dtype=np.float32)
        if self._view is None:
            return seen
        if self._jobs:
            rows = np.zeros((len(self._jobs), ON_JOB))
            rows[:, :-1] = features(self._view, self._jobs)
            rows[:, -1] = self._mask[: len(self._jobs)]
            seen[: rows.size] = rows.ravel()
        levels = self._cluster.max_gpus_per_node + 1
        free = self._view.free_gpus[self._view.nodes].astype(np.int64)
        count = np.bincount(free, minlength=levels) / len(free)
        seen[-levels - 2 : -2] = count[:levels]
        seen[-2] = self._capacity.total_gpus / self._cluster.total_gpus
        seen[-1] = np.tanh(len(self._view.waiting) / self.window)
        return seen

    def action_masks(self) -> npt.NDArray[np.int8]:
        """``(K + 1,)`` 1 where an action is possible."""
        return self._mask.copy()

    def _info(self) -> dict[str, Any]:
        now_s = float("nan") if self._view is None else self._view.now_s
        return {"action_mask": self._mask.copy(), "now_s": now_s}

    def close(self) -> None:
        """Abandon the episode that is under way."""
        if self._simulation is not None:
            self._simulation.parent = getcurrent()
            while self._simulation:  # begun and not over
                self._simulation.switch(None)
        self._simulation = None
