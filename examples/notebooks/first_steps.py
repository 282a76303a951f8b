"""First steps: load jobs, run two policies, compare them, watch them.

schedlab notebook first_steps
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import experiments.replay  # noqa: F401  a result then shows its player
    from schedlab import (
        Cluster,
        NodeType,
        Scenario,
        Streams,
        compare,
        make_policy,
        parse_law,
        poisson_jobs,
        simulate,
    )

    return (
        Cluster,
        NodeType,
        Scenario,
        Streams,
        compare,
        make_policy,
        mo,
        parse_law,
        poisson_jobs,
        simulate,
    )


@app.cell
def _(mo):
    mo.md("# First steps\n\nMove the sliders: the jobs are drawn anew and both policies run again.")
    return


@app.cell
def _(mo):
    jobs_per_hour = mo.ui.slider(10, 40, 5, value=30, label="jobs per hour")
    nodes = mo.ui.slider(4, 16, 1, value=6, label="nodes of 8 GPUs")
    mo.vstack([jobs_per_hour, nodes])
    return jobs_per_hour, nodes


@app.cell
def _(Streams, jobs_per_hour, parse_law, poisson_jobs):
    jobs = poisson_jobs(
        100,
        Streams(1),
        arrival_rate_per_h=jobs_per_hour.value,
        duration_s=parse_law("exponential:3600"),
        num_gpus=(1, 2, 4),
    )
    return (jobs,)


@app.cell
def _(Cluster, NodeType, jobs, make_policy, nodes, simulate):
    cluster = Cluster.of_nodes(NodeType("server", "GPU", 8), nodes.value)
    fifo = simulate(jobs, cluster, make_policy("fifo-strict"))
    backfill = simulate(jobs, cluster, make_policy("fifo-backfill"))
    return backfill, fifo


@app.cell
def _(backfill, fifo, mo):
    lines = [
        f"- {result.policy}: mean completion time {result.jct_s.mean() / 3600:.2f} h"
        for result in (fifo, backfill)
    ]
    if mo.app_meta().mode == "script":
        print("\n".join(lines))
    mo.md("\n".join(lines))
    return


@app.cell
def _(backfill):
    backfill
    return


@app.cell
def _(mo):
    mo.md("One run is chance. The same comparison over ten runs, with intervals:")
    return


@app.cell
def _(Scenario, compare, mo):
    scenario = Scenario(
        policy="fifo-strict",
        window=[30, 300],  # without the empty start
        workload={
            "kind": "poisson",
            "num_jobs": 300,
            "arrival_rate_per_h": 3,
            "num_gpus": [1, 2, 4, 8],
        },
        cluster={"kind": "nodes", "num_nodes": 2},
    )
    comparison = compare(scenario, ["fifo-strict", "fifo-backfill"])
    if mo.app_meta().mode == "script":
        print(comparison)
    comparison
    return (comparison,)


if __name__ == "__main__":
    app.run()
