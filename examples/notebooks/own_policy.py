"""A policy of your own: edit `decide`, and see the replay change.

schedlab notebook own_policy
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import experiments.replay  # noqa: F401  a result then shows its player
    from simulator import NO_CHANGE, Cluster, Decision, NodeType, Placement, simulate
    from simulator.laws import Exponential
    from simulator.statistics import Streams
    from simulator.workloads.poisson import poisson_jobs

    return (
        NO_CHANGE,
        Cluster,
        Decision,
        Exponential,
        NodeType,
        Placement,
        Streams,
        mo,
        poisson_jobs,
        simulate,
    )


@app.cell
def _(mo):
    mo.md(
        "# A policy of your own\n\n"
        "`decide` sees the waiting jobs and the free GPUs, and says what starts where. "
        "Change `key`: for example, let jobs of few GPUs come first."
    )
    return


@app.cell
def _(NO_CHANGE, Decision, Placement):
    def decide(view):
        def key(job):
            return -view.workload.num_gpus[job]  # jobs of many GPUs first

        free = {node: view.free_gpus[node] for node in view.nodes.tolist()}
        placements = []
        for job in sorted(view.waiting, key=key):
            gpus = int(view.workload.num_gpus[job])
            node = next((n for n in free if free[n] >= gpus), None)
            if node is not None:
                placements.append(Placement(job, node, gpus))
                free[node] -= gpus
        return Decision(placements, keep_running=True) if placements else NO_CHANGE

    return (decide,)


@app.cell
def _(Cluster, Exponential, NodeType, Streams, decide, poisson_jobs, simulate):
    jobs = poisson_jobs(
        60, Streams(2), arrival_rate_per_h=25, duration_s=Exponential(3600), num_gpus=(1, 2, 4)
    )
    result = simulate(jobs, Cluster.of_nodes(NodeType("server", "GPU", 8), 8), decide)
    return (result,)


@app.cell
def _(mo, result):
    line = f"Mean completion time: {result.jct_s.mean() / 3600:.3f} h"
    if mo.app_meta().mode == "script":
        print(line)
    mo.md(line)
    return


@app.cell
def _(result):
    result
    return


if __name__ == "__main__":
    app.run()
