"""Jobs that share GPUs: speeds beside neighbours by hand, memory, slices, nothing given away twice."""

import itertools
import math
import tomllib

import numpy as np
import pytest

from experiments.scenario.checks import ScenarioChecks
from experiments.scenario.schema import Scenario
from policies import make_policy
from simulator import Decision, InfeasibleDecision, InputError, Placement
from simulator.features.colocation import colocation_of, published_rates, with_parts
from simulator.features.colocation.mig import best_start, mask_of, profile_for
from tests.command import refused
from tests.core.jobs import fixed, nodes, run, sharing
from tests.errors import input_error

ONE = nodes(power_w=(0.0, 300.0))


def jobs_of(models, submit_s=None, **columns):
    """Halves of 100 s."""
    return sharing(submit_s or [0.0] * len(models), 100.0, model=models, **columns)


def together(view):
    """Every waiting job on GPU 0."""
    placements = [Placement(j, 0, 0.5) for j in view.waiting]
    if not placements:
        return Decision(keep_running=True)
    gpus_of = dict.fromkeys(view.waiting, (0,))
    return Decision(placements, keep_running=True, gpus_of=gpus_of)


def test_power_over_time_of_a_gpu_that_two_jobs_share():
    """On two GPUs of 200 W each, over 100 W of the idle node: both on GPU 0 from 50 to 100 s, then one alone.

    The third comes at 400 s, onto the other GPU of a node where nobody is.
    """
    jobs = jobs_of(["a"] * 3, submit_s=[0.0, 50.0, 400.0])
    cluster, alike = nodes(2, power_w=(100.0, 300.0, 500.0)), {"a": 0.5}

    def decide(view):
        gpu = int(2 in view.waiting)
        placements = [Placement(j, 0, 0.5) for j in view.waiting]
        gpus_of = dict.fromkeys(view.waiting, (gpu,))
        return Decision(placements, keep_running=True, gpus_of=gpus_of)

    result = run(jobs, cluster, decide, colocation_of(jobs, "linear", utilisation=alike))
    line = result.table("timeline")
    assert line["time_s"].tolist() == [0.0, 50.0, 100.0, 150.0, 400.0, 500.0]
    assert line["power_kw"].tolist() == pytest.approx([0.3, 0.3, 0.3, 0.1, 0.3, 0.1])
    assert result.meters.energy_kwh == pytest.approx((0.3 * 150 + 0.1 * 250 + 0.3 * 100) / 3600)


def test_a_pair_by_hand():
    """Transformers run at 0.6563 beside each other; the second comes at 50 s."""
    rate = float(published_rates()[1][2, 2])
    assert rate == pytest.approx(0.6563)
    jobs = jobs_of(["transformer"] * 2, submit_s=[0.0, 50.0])
    result = run(jobs, ONE, together, colocation_of(jobs, "published"))
    # The first has half of its work left at 50 s, the second the rest of its own after that.
    first = 50 + 50 / rate
    second = first + 100 - (first - 50) * rate
    np.testing.assert_allclose(result.completion_s, [first, second])
    alone = run(jobs, ONE, together)
    assert alone.completion_s.tolist() == [100.0, 150.0]
    # The GPU is in use all the time, by one job or two: 300 W.
    assert result.meters.energy_kwh == pytest.approx(300 * second / 3600 / 1000)


def test_linear_by_hand():
    """Utilisations 0.8 and 0.6: each runs at 1/1.4 of its speed; 0.3 and 0.6 do not disturb each other."""
    jobs = jobs_of(["a", "b"])
    busy = colocation_of(jobs, "linear", utilisation={"a": 0.8, "b": 0.6})
    assert run(jobs, ONE, together, busy).completion_s.tolist() == [140.0, 140.0]
    three = colocation_of(jobs_of(["a", "b", "b"]), "linear", utilisation={"a": 0.8, "b": 0.6})
    assert three.speed(0, [1, 2]) == pytest.approx(1 / 2.0)
    calm = colocation_of(jobs, "linear", utilisation={"a": 0.3, "b": 0.6})
    assert run(jobs, ONE, together, calm).completion_s.tolist() == [100.0, 100.0]


def test_a_job_that_is_stopped_leaves_its_gpu():
    """Jobs 0 and 1 share GPU 0 at half speed; at 10 s, 1 is stopped, and 0 is alone from then on."""
    jobs = jobs_of(["a"] * 3, submit_s=[0.0, 0.0, 10.0])
    busy = colocation_of(jobs, "linear", utilisation={"a": 1.0})

    def on(places):
        placements = [Placement(j, 0, 0.5) for j in places]
        return Decision(placements, gpus_of={j: (g,) for j, g in places.items()})

    answers = [on({0: 0, 1: 0}), on({0: 0, 2: 1}), on({1: 0, 2: 1}), on({1: 0})]
    result = run(jobs, nodes(2), lambda view: answers.pop(0), busy)
    assert result.completion_s.tolist() == [105.0, 200.0, 110.0]
    assert result.preemptions.tolist() == [0, 1, 0]


def test_whole_gpus_after_shared_ones():
    """Both shared GPU 0; then each has a GPU for itself, and nothing is left of the other."""
    jobs = jobs_of(["a"] * 3, submit_s=[0.0, 0.0, 10.0])
    busy = colocation_of(jobs, "linear", utilisation={"a": 1.0})

    def decide(view):
        whole = Decision([Placement(j, 0, 1) for j in view.jobs])
        return together(view) if view.now_s < 10 else whole

    result = run(jobs, nodes(4), decide, busy)
    assert result.completion_s.tolist() == [105.0, 105.0, 110.0]


def test_jobs_without_a_class_do_not_matter():
    jobs = jobs_of(["transformer", "mine"])
    result = run(jobs, ONE, together, colocation_of(jobs, "published"))
    assert result.completion_s.tolist() == [100.0, 100.0]


def test_memory_of_a_gpu_is_kept():
    jobs = jobs_of(["a", "b"])
    tight = colocation_of(jobs, gpu_memory_gb=16.0, memory_gb={"a": 10.0, "b": 8.0})
    with pytest.raises(InfeasibleDecision, match="node 0: GPU 0: 18 GB of memory used of 16"):
        run(jobs, ONE, together, tight)
    for policy in (make_policy("complementary", share="always"), make_policy("shared")):
        result = run(jobs, ONE, policy, tight)
        assert result.completion_s.tolist() == [100.0, 200.0]
    roomy = colocation_of(jobs, gpu_memory_gb=16.0, memory_gb={"a": 8.0, "b": 8.0})
    result = run(jobs, ONE, make_policy("complementary", share="always"), roomy)
    assert result.completion_s.tolist() == [100.0, 100.0]


def test_profiles_as_the_vendor_lists_them():
    """Seven 1g, three 2g, two 3g, 4g + 3g, one 7g; three 2g leave one 1g; 3g + 3g leave nothing."""
    assert [profile_for(p) for p in (0.1, 1 / 7, 0.2, 0.4, 0.5, 0.6, 1.0)] == [0, 0, 1, 2, 3, 4, 4]
    assert profile_for(0.1, memory_part=0.5) == 2

    def put(*profiles):
        taken = 0
        for k in profiles:
            start = best_start(taken, k)
            if start is None:
                return None
            taken |= mask_of(k, start)
        return taken

    for fitting in (
        [0] * 7,
        (1, 1, 1, 0),
        (2, 2),
        (3, 2),
        (4,),
        *itertools.permutations((3, 1, 0)),
    ):
        assert put(*fitting) is not None, fitting
    for too_much in ([0] * 8, (1, 1, 1, 1), (2, 2, 0), (4, 0), (0, 4)):
        assert put(*too_much) is None, too_much


def test_slices_keep_jobs_apart():
    """0.5 of a GPU is 4g, which begins at slice 0 only: two of them need two GPUs, though parts add up to 1."""
    jobs = jobs_of(["a", "b"])
    sliced = colocation_of(jobs, slices=True)
    with pytest.raises(InputError, match="the GPUs are sliced, expected the policy 'slices'"):
        run(jobs, ONE, "shared", sliced)
    with pytest.raises(InfeasibleDecision, match=r"GPU 0 has no room for a slice 4g\.20gb"):
        run(jobs, ONE, together, sliced)
    one = run(jobs, ONE, "slices", sliced)
    assert one.completion_s.tolist() == [100.0, 200.0]
    other = run(jobs, nodes(1, 2), "slices", sliced)
    assert other.completion_s.tolist() == [100.0, 100.0]


def test_good_neighbours_are_chosen():
    """Of two GPUs, one with ResNet-50 and one with Recommendation, a Transformer joins the latter."""
    jobs = jobs_of(["resnet50", "recommendation", "transformer"], submit_s=[0.0, 0.0, 1.0])
    result = run(jobs, nodes(2), "complementary", colocation_of(jobs, "published"))
    rate = float(published_rates()[1][2, 3])
    assert result.first_start_s[2] == 1.0
    assert result.completion_s[0] == 100.0
    done = (result.completion_s[1] - 1) * rate
    assert result.completion_s[2] == pytest.approx(result.completion_s[1] + 100 - done)
    # Beside ResNet-50 it would run at 0.38: less than the least speed of 0.5.
    jobs = jobs_of(["resnet50", "transformer"], submit_s=[0.0, 1.0])
    alone = run(jobs, ONE, "complementary", colocation_of(jobs, "published"))
    assert alone.first_start_s.tolist() == [0.0, 100.0]


def test_without_neighbours_nothing_changes():
    jobs = jobs_of(["a"] * 30, [20.0 * k for k in range(30)])
    plain, same = run(jobs, nodes(2), "shared"), run(jobs, nodes(2), "shared", colocation_of(jobs))
    assert plain.schedule_table().to_csv() == same.schedule_table().to_csv()


def test_mistakes_are_one_line():
    jobs = jobs_of(["a"])
    with pytest.raises(InputError, match="no job is of a published class, expected models among"):
        colocation_of(jobs, "published")
    with pytest.raises(InputError, match="utilisation of model 'a' is missing"):
        colocation_of(jobs, "linear")
    with pytest.raises(InputError, match="utilisation of 'a' is 2, expected above 0, at most 1"):
        colocation_of(jobs, "linear", utilisation={"a": 2})
    with pytest.raises(InputError, match="job 'j0' needs 20 GB of a GPU, which has 16"):
        colocation_of(jobs, gpu_memory_gb=16.0, memory_gb={"a": 20.0})
    with pytest.raises(InputError, match="slices keep jobs apart"):
        colocation_of(jobs, "published", slices=True)
    with pytest.raises(InputError, match="the jobs state their parts; expected fixed durations"):
        with_parts(jobs, 0.5)
    with pytest.raises(InputError, match="least_speed is 2"):
        make_policy("complementary", least_speed=2.0)
    whole = fixed([0], [1])
    assert with_parts(whole, 0.5).performance.part.tolist() == [0.5]
    assert math.isinf(colocation_of(whole).gpu_memory_gb)


OF_PAIRS = """policy = "complementary"
workload = { kind = "poisson", num_jobs = 5, arrival_rate_per_h = 30 }
cluster = { kind = "nodes", num_nodes = 4 }
[colocation]
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("part = 1.5", "colocation.part: got 1.5, expected"),
        ("memory_gb = {a = 3}", "colocation.gpu_memory_gb: missing, expected beside memory_gb"),
        ("utilisation = {a = 0.5}", "colocation.utilisation: given without interference = 'linear'"),
        ('interference = "all"', 'colocation.interference: got "all", expected one of'),
        ('interference = "published"', "colocation: no job is of a published class"),
        ("draw = {a = -1}", "colocation.draw.a: got -1, expected"),
    ],
)  # fmt: skip
def test_bad_keys_are_one_line(tmp_path, text, told):
    path = tmp_path / "s.toml"
    path.write_text(OF_PAIRS + text)
    assert told in refused("run", path, "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('draw = {a = 1}\ninterference = "published"', "colocation: no job is of a published class"),
        (
            'draw = {a = 1, b = 1}\ninterference = "linear"\nutilisation = {a = 0.5}',
            "colocation: utilisation of model 'b' is missing",
        ),
        (
            "draw = {a = 1, b = 1}\ngpu_memory_gb = 16\nmemory_gb = {b = 20}",
            "colocation: job 'of model b' needs 20 GB of a GPU, which has 16",
        ),
        ("draw = {a = 0}", "colocation.draw: draw is {'a': 0.0}, expected chances >= 0"),
    ],
)  # fmt: skip
def test_models_that_may_be_drawn_are_checked_before_a_run(text, told):
    table = tomllib.loads(OF_PAIRS + text)
    with input_error(told):
        ScenarioChecks()(Scenario.model_validate(table))
