"""A scenario that is made of settings: its text, and the check of it."""

import pytest

from experiments.importing.imported import Imported, format_of
from simulator.errors import InputError


def small(**keys) -> Imported:
    """A scenario that is read."""
    made = Imported("q.yaml")
    made.set("policy_options", "reclaim", True, "b")
    made.set("cluster", "kind", "nodes", "c")
    made.set("cluster", "num_nodes", 2, "d")
    made.set("", "policy", "capacity", "a")
    made.set("tenants", "by", "vc", "e")
    made.set("tenants", "quota", {"x": 1, 'y "z"': 2}, "f")
    made.set("workload", "kind", "csv", "g")
    made.set("workload", "path", "jobs.csv", "h")
    for key, value in keys.items():
        made.set("cluster", key, value, "more")
    return made


def test_the_text():
    """Tables in their order, each key with its reason, then what was not used; all on lines of their own."""
    made = small()
    made.set("workload", "kind", "swf", " in\ntwo  lines\x07")
    made.unused += ["one\n[failures]", "two"]
    made.source = "a\nb"
    assert made.text() == (
        "# from a b\n"
        'policy = "capacity"  # a\n'
        "\n[workload]\n"
        'kind = "swf"  # in two lines\\x07\n'
        'path = "jobs.csv"  # h\n'
        "\n[cluster]\n"
        'kind = "nodes"  # c\n'
        "num_nodes = 2  # d\n"
        "\n[tenants]\n"
        'by = "vc"  # e\n'
        'quota = { x = 1, "y \\"z\\"" = 2 }  # f\n'
        "\n[policy_options]\n"
        "reclaim = true  # b\n"
        "\n# not used: one [failures]\n# not used: two\n"
    )
    assert small().text().endswith("reclaim = true  # b\n")


def test_groups_of_servers_stand_with_the_cluster():
    made = Imported("x")
    for table in ("tenants", "cluster.groups.a", "cluster", "workload"):
        made.set(table, "k", 1, "why")
    assert [line for line in made.text().splitlines() if line.startswith("[")] == [
        "[workload]", "[cluster.groups.a]", "[cluster]", "[tenants]",
    ]  # fmt: skip


def test_what_is_made_is_read():
    assert small().checked() == small().text()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (small(num_nodes=0), "q.yaml: cluster.num_nodes: got 0, expected"),
        (small(own=1), "q.yaml: cluster.own: unknown key"),
        (small(gpu_type="\ud800"), "q.yaml: half a character in a text, expected UTF-8"),
    ],
)
def test_what_cannot_be(made, told):
    with pytest.raises(InputError) as raised:
        made.checked()
    assert str(raised.value).startswith(told)


def test_options_of_the_policy_are_looked_at():
    made = small()
    made.set("policy_options", "own", 1, "x")
    with pytest.raises(InputError, match=r"^q\.yaml: .*unknown option 'own'"):
        made.checked()


def test_the_format_of_jobs(tmp_path):
    path = tmp_path / "jobs.swf"
    assert format_of(path) == "csv"
    path.write_text("; MaxProcs: 4\n1 0 0 9 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n")
    assert format_of(path) == "swf"
