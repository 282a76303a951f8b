"""Queueing laboratory: any law of service, several orders, the formula beside.

schedlab notebook queueing_laboratory
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    from policies import make_policy
    from simulator import Cluster, NodeType, simulate
    from simulator.laws import parse_law
    from simulator.statistics import Streams, student
    from simulator.theory import mg1_mean_response_s, mg1_ps_response_s, mg1_srpt_response_s
    from simulator.workloads.poisson import poisson_jobs
    from simulator.workloads.reshaping import time_shared

    formulas = {
        "fifo-strict": mg1_mean_response_s,
        "processor-sharing": mg1_ps_response_s,
        "srpt": mg1_srpt_response_s,
    }
    return (
        Cluster, NodeType, Streams, formulas, make_policy, mo, parse_law, poisson_jobs, simulate,
        student, time_shared,
    )  # fmt: skip


@app.cell
def _(formulas, mo):
    load = mo.ui.slider(0.1, 0.9, 0.1, value=0.7, label="load")
    law_text = mo.ui.text("hyperexponential:3600,cv2=4", label="law of the service, s")
    order = mo.ui.dropdown(list(formulas), value="fifo-strict", label="order")
    mo.vstack([mo.md("# Queueing laboratory"), load, law_text, order])
    return law_text, load, order


@app.cell
def _(
    Cluster, NodeType, Streams, formulas, law_text, load, make_policy, order, parse_law,
    poisson_jobs, simulate, student, time_shared,
):  # fmt: skip
    law = parse_law(law_text.value)
    one = Cluster.of_nodes(NodeType("one", "GPU", 1), 1)
    rate_per_h = 3600 * load.value / law.mean
    means_h = []
    for seed in range(5):
        jobs = poisson_jobs(1500, Streams(seed), arrival_rate_per_h=rate_per_h, duration_s=law)
        result = simulate(time_shared(jobs), one, make_policy(order.value), record_schedule=False)
        means_h.append(float(result.jct_s[300:].mean()) / 3600)
    simulated = student(means_h)
    formula_h = formulas[order.value](rate_per_h / 3600, law) / 3600
    return formula_h, simulated


@app.cell
def _(formula_h, mo, simulated):
    line = (
        f"Mean time in the system: formula {formula_h:.3f} h, simulated "
        f"{simulated.mean:.3f} h [{simulated.lower:.3f}, {simulated.upper:.3f}]"
    )
    if mo.app_meta().mode == "script":
        print(line)
    mo.md(line)
    return


if __name__ == "__main__":
    app.run()
