"""Kueue's ClusterQueues as a scenario: quotas, borrowing, reclaim, order, by tables."""

import builtins
import json

import pytest

from experiments.importing import from_kueue, kueue
from simulator.errors import InputError


def queue(name: str = "x", gpus: int | str = 8, **spec) -> dict:
    """A ClusterQueue; ``spec`` : more of its keys."""
    resource = {"name": "nvidia.com/gpu", "nominalQuota": gpus}
    groups = [{"flavors": [{"name": "a100", "resources": [resource]}]}]
    return {
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"resourceGroups": groups, **spec},
    }


@pytest.fixture
def made(tmp_path):
    """What an import makes of documents; JSON is YAML."""

    def make(*documents: dict | str, gpus_per_node: int = 8, jobs: str = "jobs.csv"):
        texts = [each if isinstance(each, str) else json.dumps(each) for each in documents]
        (tmp_path / "q.yaml").write_text("\n---\n".join(texts))
        return from_kueue(tmp_path / "q.yaml", jobs, gpus_per_node)

    make.file = tmp_path / "q.yaml"
    return make


def values(imported, table: str) -> dict:
    return {key: value for key, (value, _) in imported.keys.get(table, {}).items()}


def wrong(make, told: str, *documents) -> None:
    with pytest.raises(InputError) as raised:
        make(*documents)
    assert str(raised.value) == f"{make.file}: {told}"


def test_the_whole(made):
    found = made(queue("x", 24, cohort="c"), queue("y", 8, cohort="c"), jobs="my.swf")
    assert found.source == str(made.file)
    assert found.keys == {
        "workload": {
            "kind": ("csv", "the format of your file of jobs"),
            "path": ("my.swf", "your file of jobs, with the ClusterQueue in the column vc"),
        },
        "cluster": {
            "kind": ("nodes", "equal servers"),
            "num_nodes": (4, "32 GPUs of quotas in all"),
            "gpus_per_node": (8, "--gpus-per-node"),
        },
        "tenants": {
            "by": ("vc", "ClusterQueue"), "quota": ({"x": 24, "y": 8}, "nominalQuota"),
            "borrowing": (True, "a cohort lends"),
        },
        "": {"policy": ("capacity", "borrowing in a cohort")},
        "policy_options": {"reclaim": (False, "reclaimWithinCohort: Never")},
    }  # fmt: skip
    assert found.unused == []


def test_flavors_are_groups_of_nodes(made):
    """One queue has both flavors; names are those that jobs ask for, and equal ones count together."""
    both = queue("x")
    both["spec"]["resourceGroups"] = [
        {"flavors": [{"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]}
                     for name, gpus in (("A100", 12), ("spot.v100", 4), ("none", 0))]}
    ]  # fmt: skip
    found = made(both, queue("y", 4))
    assert found.keys["cluster"] == {"kind": ("mixed", "2 flavors, 20 GPUs of quotas in all")}
    assert values(found, "cluster.groups.a100") == {
        "num_nodes": 2, "gpus_per_node": 8, "gpu_type": "A100",
    }  # fmt: skip
    assert values(found, "cluster.groups.spot-v100") == {"num_nodes": 1, "gpus_per_node": 8}
    assert values(found, "tenants")["quota"] == {"x": 16, "y": 4}
    assert found.checked()


@pytest.mark.parametrize(
    ("quotas", "of_node", "nodes"),
    [((24, 8), 8, 4), ((24, 9), 8, 5), ((1,), 8, 1), ((8,), 8, 1), ((9,), 8, 2), ((15,), 8, 2), ((5, 5), 4, 3)],
)  # fmt: skip
def test_nodes_for_all_quotas(made, quotas, of_node, nodes):
    """As many as hold them all: rounded up."""
    found = made(*(queue(f"q{k}", gpus) for k, gpus in enumerate(quotas)), gpus_per_node=of_node)
    assert values(found, "cluster") == {
        "kind": "nodes",
        "num_nodes": nodes,
        "gpus_per_node": of_node,
    }
    assert found.keys["cluster"]["num_nodes"][1] == f"{sum(quotas)} GPUs of quotas in all"


APART = "cohorts apart: all tenants of a scenario are one cohort"


@pytest.mark.parametrize(
    ("cohorts", "borrows", "unused"),
    [
        (["c", "c"], True, []),
        (["c"], False, []),
        (["c", "d"], False, []),
        (["c", "c", "d"], True, [APART]),
        (["c", "c", ""], True, [APART]),
        (["", "", "c"], False, []),  # nobody lends to the one queue of the cohort
        (["", ""], False, []),
        ([""], False, []),
    ],
)
def test_who_borrows(made, cohorts, borrows, unused):
    """Queues of a cohort of several."""
    found = made(*(queue(f"q{k}", cohort=cohort) for k, cohort in enumerate(cohorts)))
    told = "a cohort lends" if borrows else "no cohort of several"
    assert found.keys["tenants"]["borrowing"] == (borrows, told)
    assert values(found, "")["policy"] == ("capacity" if borrows else "fifo-backfill")
    assert ("policy_options" in found.keys) == borrows
    assert found.unused == unused


def test_a_cohort_by_its_newer_name(made):
    """Which counts where both are there."""
    assert values(made(queue("x", cohortName="c"), queue("y", cohort="c")), "tenants")["borrowing"]
    found = made(queue("x", cohortName="c", cohort="d"), queue("y", cohort="d"))
    assert not values(found, "tenants")["borrowing"]


@pytest.mark.parametrize(
    ("reclaims", "is_taken_back", "words"),
    [
        ([None, None], False, "Never"),
        (["Never", None], False, "Never"),
        (["Any", "Any"], True, "Any"),
        (["Any", "Never"], True, "Any, Never"),
        (["LowerPriority", "Any"], True, "Any, LowerPriority"),
    ],
)
def test_what_is_lent_is_taken_back(made, reclaims, is_taken_back, words):
    queues = [
        queue(
            f"q{k}", cohort="c", **({"preemption": {"reclaimWithinCohort": each}} if each else {})
        )
        for k, each in enumerate(reclaims)
    ]
    found = made(*queues)
    assert found.keys["policy_options"]["reclaim"] == (
        is_taken_back,
        f"reclaimWithinCohort: {words}",
    )
    assert found.unused == []


@pytest.mark.parametrize(
    ("strategies", "policy", "words"),
    [
        ([None], "fifo-backfill", "BestEffortFIFO"),
        (["BestEffortFIFO"], "fifo-backfill", "BestEffortFIFO"),
        (["StrictFIFO"], "fifo-strict", "StrictFIFO"),
        (["StrictFIFO", "StrictFIFO"], "fifo-strict", "StrictFIFO"),
        (["StrictFIFO", None], "fifo-backfill", "BestEffortFIFO, StrictFIFO"),
    ],
)
def test_the_order_of_queues(made, strategies, policy, words):
    """One strict queue makes the others not strict."""
    queues = [
        queue(f"q{k}", **({"queueingStrategy": s} if s else {})) for k, s in enumerate(strategies)
    ]
    assert made(*queues).keys[""] == {"policy": (policy, f"queueingStrategy: {words}")}
    assert made(*queues).unused == []
    lent = made(*({**q, "spec": {**q["spec"], "cohort": "c"}} for q in [*queues, queue("more")]))
    assert values(lent, "")["policy"] == "capacity"
    assert lent.unused == (["queueingStrategy: StrictFIFO"] if "StrictFIFO" in strategies else [])


def test_quotas_of_flavors_are_added(made):
    """Whatever the maker of the GPUs; limits, and what is no GPU, are listed."""

    def flavor(name: str, *resources: dict) -> dict:
        return {"name": name, "resources": [*resources]}

    spec = {
        "resourceGroups": [
            {"flavors": [flavor("f", {"name": "cpu", "nominalQuota": 9}, {"name": "nvidia.com/gpu", "nominalQuota": 3, "borrowingLimit": 1, "lendingLimit": 2})]},
            {"flavors": [flavor("g", {"name": "amd.com/gpu", "nominalQuota": "4"}), flavor("h", {"name": "nvidia.com/gpu"})]},
        ]
    }  # fmt: skip
    found = made({**queue("x"), "spec": spec})
    assert values(found, "tenants")["quota"] == {"x": 7}
    assert found.unused == [
        "ClusterQueue x: quota of cpu of flavor f", "ClusterQueue x: borrowingLimit of nvidia.com/gpu of flavor f",
        "ClusterQueue x: lendingLimit of nvidia.com/gpu of flavor f",
    ]  # fmt: skip


def test_what_is_not_used(made):
    found = made(
        queue("x", zone=1, flavorFungibility={}, preemption={"withinClusterQueue": "Never", "borrowWithinCohort": {}, "reclaimWithinCohort": "Any"}),
        queue("none", 0), {"kind": "LocalQueue", "metadata": {"name": "team"}}, {"kind": "Job"},
        queue("y", 1),
    )  # fmt: skip
    assert found.unused == [
        "ClusterQueue x: flavorFungibility", "ClusterQueue x: preemption.borrowWithinCohort",
        "ClusterQueue x: preemption.withinClusterQueue", "ClusterQueue x: zone",
        "ClusterQueue none (no quota of a GPU)", "LocalQueue team", "Job ",
    ]  # fmt: skip
    assert values(found, "tenants")["quota"] == {"x": 8, "y": 1}


def test_lists_and_empty_documents(made):
    found = made({"items": [queue("x"), queue("y")]}, "", "~", queue("z"))
    assert values(found, "tenants")["quota"] == {"x": 8, "y": 8, "z": 8}


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([{"kind": "Job"}], "no ClusterQueue with a nominalQuota of GPUs, expected one"),
        ([queue("x", 0)], "no ClusterQueue with a nominalQuota of GPUs, expected one"),
        ([queue("x", "1.5")], "ClusterQueue x: spec: nominalQuota of nvidia.com/gpu of flavor a100 is '1.5', expected a whole number below a billion"),
        ([queue("x", 10**9)], "ClusterQueue x: spec: nominalQuota of nvidia.com/gpu of flavor a100 is '1000000000', expected a whole number below a billion"),
        ([queue("x"), queue("x")], "ClusterQueue x is there twice, expected one of each name"),
        ([queue("")], "ClusterQueue  is there without a name, expected metadata.name"),
        ([queue("x", preemption=[1])], "ClusterQueue x: spec: preemption is a list, expected a mapping"),
        ([queue("x", cohort={"a": 1})], "ClusterQueue x: spec: cohort is a mapping, expected a text"),
        ([queue("x", resourceGroups="y" * 99)], f"ClusterQueue x: spec: resourceGroups is '{'y' * 60}', expected a list"),
        ([{**queue("x"), "spec": {"resourceGroups": [7]}}], "ClusterQueue x: spec: an entry of resourceGroups is '7', expected a mapping"),
        ([{**queue("x"), "metadata": [1]}], "metadata is a list, expected a mapping"),
        ([[1]], "a document is a list, expected a mapping"),
        ([{"items": {"a": 1}}], "a document: items is a mapping, expected a list"),
        ([{"items": [3]}], "a document: an entry of items is '3', expected a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong(made, documents, told):
    wrong(made, told, *documents)


def test_no_yaml(made, monkeypatch):
    with pytest.raises(InputError) as raised:
        made("kind: [")
    assert str(raised.value).startswith(f"{made.file}: no YAML: ")
    assert "\n" not in str(raised.value)
    own = builtins.__import__
    monkeypatch.setattr(
        builtins, "__import__", lambda name, *more: 1 / 0 if name == "yaml" else own(name, *more)
    )
    monkeypatch.setattr(kueue, "read_input", None)

    def missing(name, *more):
        if name == "yaml":
            raise ImportError
        return own(name, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError) as raised:
        made("kind: [")
    assert str(raised.value) == "PyYAML is not there, expected pip install 'schedlab[kueue]'"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        # the mapping, its key and "x" are three
        ("{kind: x}", 3), ("{a: [1, 2]}", 5), ("{a: &a [1, 2], b: *a}", 9), ("{a: &a 1, b: *a}", 5),
        ("{a: &a [&b [1], *b], c: *a}", 13),
    ],
)  # fmt: skip
def test_values_are_counted_with_their_aliases(made, monkeypatch, text, fits):
    told = "holds too much, expected at most {} values, aliases counted each time, 50 deep"
    for most in (fits, fits - 1):
        monkeypatch.setattr(kueue, "MOST_VALUES", most)
        expected = (
            "no ClusterQueue with a nominalQuota of GPUs, expected one"
            if most == fits
            else told.format(most)
        )
        wrong(made, expected, text)


@pytest.mark.parametrize(("deep", "is_read"), [(49, True), (50, False)])
def test_so_deep_and_no_deeper(made, deep, is_read):
    text = "{a: " + "[" * deep + "]" * deep + "}"
    told = "no ClusterQueue with a nominalQuota of GPUs, expected one"
    wrong(
        made,
        told
        if is_read
        else "holds too much, expected at most 300,000 values, aliases counted each time, 50 deep",
        text,
    )
