"""First steps: load jobs, run two policies, compare them, watch them.

schedlab notebook first_steps
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import experiments.replay  # noqa: F401  a result then shows its player
    from experiments import compare
    from policies import make_policy
    from simulator import Cluster, NodeType, simulate
    from simulator.laws import Exponential
    from simulator.statistics import Streams
    from simulator.workloads.poisson import poisson_jobs

    return (
        Cluster,
        Exponential,
        NodeType,
        Streams,
        compare,
        make_policy,
        mo,
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
def _(Exponential, Streams, jobs_per_hour, poisson_jobs):
    jobs = poisson_jobs(
        100,
        Streams(1),
        arrival_rate_per_h=jobs_per_hour.value,
        duration_s=Exponential(3600),
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
def _(compare, mo):
    scenario = mo.notebook_dir().parent / "backfill.toml"
    comparison = compare(scenario, ["fifo-strict", "fifo-backfill"])
    comparison
    return (comparison,)


if __name__ == "__main__":
    app.run()
