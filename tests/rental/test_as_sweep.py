"""The rental paper's runs on a pool as a sweep file: the jobs' times are those of the figures."""

from pathlib import Path

import numpy as np
import pytest

from experiments.papers.rental.runs import AUTOSCALER_BUDGETS, OTHER_SEEDS, SIZES, run_pool, tasks
from experiments.scenario.build import build
from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.run import run_scenario
from experiments.scenario.schema import Scenario
from experiments.sweep.sweepfile import read_sweep
from policies.rental.named import job_types
from simulator import Workload
from simulator.errors import InputError
from simulator.laws import parse_law
from simulator.model.performance import SpeedupCurve
from tests.errors import input_error

FILE = Path(__file__).parents[2] / "examples" / "sweep_rental.toml"
NAMES = {name: f"rental-{name}" for name in ("whole-gpus", "equi", "srpt", "hesrpt")}
NAMES["optimal"] = "rental-fixed-width"
"""Policies of the figures that have a name of their own."""

Setting = tuple[str, float, str, str, int]


def settings(jobs: int) -> dict[Setting, dict]:
    """Each run of the file: policy, budget, sizes, arrivals and seed; its configuration."""
    laws = {parse_law(law): name for law, name in _texts().items()}
    found = {}
    for task in read_sweep(FILE, changes={"workload.num_jobs": jobs})[1]:
        config = dict(task.config)
        workload = config["workload"]
        size = laws[parse_law(workload.get("sizes", "exponential:1"))]
        of_jobs = size, workload.get("arrivals", "poisson"), config["seed"]
        found[config["policy"], config["policy_options"]["gpus"], *of_jobs] = config
    return found


def _texts() -> dict[str, str]:
    bimodal, pareto = SIZES["bimodal"], SIZES["bounded Pareto"]
    return {
        "exponential:1": "exponential",
        "deterministic:1": "deterministic",
        f"bimodal:small={bimodal.small!r},large={bimodal.large!r},p_large=0.1": "bimodal",
        f"bounded-pareto:low={pareto.low!r},high={pareto.high!r},alpha=1.5": "bounded Pareto",
    }


def test_the_file_has_the_figures_runs_of_named_policies_and_no_other():
    wanted = {
        (
            NAMES[str(task.config["policy"])],
            task.config["budget_gpus"],
            task.config["size"],
            task.config["arrivals"],
            task.config["seed"] % OTHER_SEEDS,  # settings of sizes and arrivals have seeds apart
        )
        for task in tasks("paper")
        if task.config["policy"] in NAMES
    }
    assert set(settings(10_000)) == wanted
    assert {task.config["jobs"] for task in tasks("paper")} == {10_000}
    assert AUTOSCALER_BUDGETS.keys() == {1.5, 3.0, 5.0, 10.0}, "the budgets of the rivals"


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "budget", "size", "arrivals"),
    [
        ("optimal", 1.0, "exponential", "poisson"),
        ("optimal", 30.0, "exponential", "poisson"),
        ("optimal", 5.0, "bimodal", "mmpp"),
        ("optimal", 5.0, "bounded Pareto", "deterministic"),
        ("whole-gpus", 3.0, "exponential", "poisson"),
        ("equi", 1.5, "exponential", "poisson"),
        ("srpt", 5.0, "exponential", "poisson"),
        ("hesrpt", 10.0, "exponential", "poisson"),
    ],
)
def test_a_run_of_the_file_is_the_figures_own(policy, budget, size, arrivals):
    config = settings(200)[NAMES[policy], budget, size, arrivals, 3]
    own = run_pool(
        {
            "policy": policy, "budget_gpus": budget, "size": size, "arrivals": arrivals,
            "jobs": 200, "seed": 3,
        }
    )  # fmt: skip
    outcome = run_scenario(config)
    jobs = outcome.tables["jobs"]
    times_h = (jobs["completion_s"] - jobs["arrival_s"]) / 3600
    assert float(times_h.to_numpy().mean()) == own.scalars["mean_response_time_h"]
    for name in ("amdahl", "root"):
        mine = times_h[jobs["model"] == name].to_numpy()
        assert float(mine.mean()) == own.scalars[f"mean_response_time_{name}_h"]
    gpus = jobs["gpu_seconds"].sum() / jobs["arrival_s"].iloc[-1]
    assert gpus == pytest.approx(own.scalars["work_gpus"])


# -- the kind of workload --------------------------------------------------------------------

TYPES = """[[types]]
name = "short"
arrival_rate_per_h = 3
mean_size_h = 0.5
speedup = { kind = "power", exponent = 0.5 }
[[types]]
name = "long"
arrival_rate_per_h = 1
mean_size_h = 4
speedup = { kind = "amdahl", parallel_fraction = 0.9 }
"""


def built(folder: Path, types: str = TYPES, **keys: object) -> Workload:
    (folder / "types.toml").write_text(types)
    jobs = {"kind": "elastic", "path": str(folder / "types.toml"), "num_jobs": 4000, **keys}
    scenario = Scenario.model_validate(
        {"workload": jobs, "cluster": {"kind": "pool"}, "policy": "rental-fixed-width"}
    )
    ScenarioChecks()(scenario)
    return build(scenario)[0]


def test_sizes_are_multiples_of_the_mean_of_the_type(tmp_path):
    workload = built(tmp_path, sizes="deterministic:1")
    curves = workload.performance
    assert isinstance(curves, SpeedupCurve)
    short = np.array(workload.model) == "short"
    assert set(curves.duration_s[short]) == {1800.0}
    assert set(curves.duration_s[~short]) == {14_400.0}
    assert short.mean() == pytest.approx(0.75, abs=0.03)
    # Policies plan for the file's numbers, not for those of these 4,000 jobs.
    assert [(t.arrival_rate_per_h, t.mean_size_h) for t in job_types(workload)] == [
        (3, 0.5),
        (1, 4),
    ]


@pytest.mark.parametrize(
    ("keys", "types", "complaint"),
    [
        ({"sizes": "exponential:2"}, TYPES, "workload.sizes: law 'exponential:2': its mean is 2, "),
        ({"sizes": "exponential"}, TYPES, "workload.sizes: law 'exponential': expected"),
        ({}, TYPES.replace("= 3", "= 0"), "types.toml: types[0].arrival_rate_per_h"),
        ({}, TYPES.replace('"power", exponent = 0.5', '"function", function = "os:getpid"'),
         "types.toml: types[0].speedup: got function 'os:getpid', which would run code that is not "
         "schedlab's; no file of a scenario may name functions"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path, keys, types, complaint):
    with input_error(complaint):
        built(tmp_path, types, **keys)


def test_no_rule_is_proposed_that_these_jobs_refuse(tmp_path):
    """Jobs of fixed demand get times on VMs by [adapt] speedup; these have curves already."""
    (tmp_path / "types.toml").write_text(TYPES)
    jobs = {"kind": "elastic", "path": str(tmp_path / "types.toml")}
    vms = {"kind": "vms", "num_nodes": 2}
    scenario = Scenario.model_validate({"workload": jobs, "cluster": vms, "policy": "greedy"})
    with pytest.raises(InputError, match=r"workload 'elastic' brings no machines$"):
        build(scenario)


@pytest.mark.parametrize("long_run", [((1.0, 1.0),), ((1.0, 1.0), (0.0, 1.0))])
def test_what_is_known_is_known_of_each_curve(long_run):
    curves = [float, float]
    with pytest.raises(InputError, match="positive rate and a positive size for each of 2 curves"):
        SpeedupCurve(np.ones(2), np.arange(2), curves, long_run)
