"""The thesis's runs."""

from experiments.papers.thesis.runs import run_cost, run_decision, tasks


def test_a_run_is_a_function_of_trace_and_seed():
    config = {"num_nodes": 5, "mean_gap_s": 20_000.0, "due": "min-2max", "trace": 1}
    cost = {
        (method, seed): run_cost({**config, "method": method, "seed": seed}).scalars["total_cost"]
        for method in ("greedy", "randomised-all", "hierarchical-greedy")
        for seed in (1, 2)
    }
    assert cost["greedy", 1] == cost["greedy", 2]
    assert cost["randomised-all", 1] != cost["randomised-all", 2]
    # Five nodes are one controller's.
    assert cost["hierarchical-greedy", 1] == cost["greedy", 1]


def test_a_decision_is_timed_and_better_methods_have_better_objectives():
    for homogeneous in (False, True):
        found = run_decision({"num_nodes": 5, "homogeneous": homogeneous, "seed": 1}).scalars
        assert found["jobs"] == 50
        assert 0 < found["greedy cpu_s"] < found["randomised-greedy cpu_s"]
        assert found["local-search proxy"] <= found["greedy proxy"] * (1 + 1e-9)


def test_tasks_that_share_a_run_have_labels_of_their_own():
    for scale in ("quick", "paper"):
        named = [(task.key, tuple(sorted(task.columns().items()))) for task in tasks(scale)]
        assert len(set(named)) == len(named)
