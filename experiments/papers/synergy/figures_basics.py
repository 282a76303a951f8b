"""Figures 1 to 5: the largest gains, and what jobs gain from CPUs and memory."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.pages import Drawn, Results, plots
from experiments.papers.synergy.panels import AVERAGES, NAMES, load_panel, note, over_load, stars
from experiments.papers.synergy.runs import PAGE
from experiments.papers.synergy.tables import (
    Table,
    cells,
    fifo,
    gains,
    profiles,
    their_draw,
    their_hours,
    windows,
)
from experiments.pictures.plots import MARKERS, PALETTE, PAPER

Points = tuple[tuple[float, float], ...]
"""A line: x and y of each point."""


@PAGE.figure(
    "figure_1",
    "Figure 1: average JCT over load",
    "Above: average job completion time over load. Below: the average of GPU-proportional divided by that of each "
    "mechanism on the same trace. The paper prints the largest value over loads. Stars: the authors' draw and rules. Right, "
    "dotted: the released rules, to where jobs ask for 130 % of the GPUs." + AVERAGES,
)
def figure_1(results: Results) -> Drawn:
    figure, axes = plots.canvas(2, 2, width=5.2, height=3.3)
    multi = cells(results, "orderings", ordering="las")
    far = cells(results, "overload", ordering="las", gpu_law="philly")
    theirs = their_hours(results)
    names = {**NAMES, "far": "Synergy-Tune, released rules"}
    shown = [
        ("FIFO, single-GPU jobs", fifo(results), "single"),
        ("LAS, jobs of up to 16 GPUs", multi, "multi"),
    ]
    stars(axes[0], [9.0] * len(theirs), list(theirs), their_draw(results), list(theirs.index))
    stars(axes[2], [9.0], [theirs["proportional"] / theirs["tune"]], their_draw(results))
    for above, below, (title, table, name) in zip(axes[:2], axes[2:], shown, strict=True):
        load_panel(above, table, title)
        parts = [
            gains(table, ["load"], over=over).assign(mechanism=over)
            for over in ("tune", "opt") if over in set(table["mechanism"])
        ]  # fmt: skip
        if name == "multi":
            parts.append(gains(far, ["load"]).assign(mechanism="far"))
        drawn = plots.lines(
            below, pd.concat(parts), "load", "ratio", "mechanism", names, geometric=True,
            dashed=["far"],
        )  # fmt: skip
        printed = PAGE[name]
        plots.paper_line(below, printed.low, "paper, largest over loads", printed.accepted)
        gained = f"gain over GPU-proportional; paper (dashed): {PAGE[name].printed}"
        over_load(below, drawn, "proportional / mechanism", gained)
    axes[0].set_xlim(None, axes[0].get_xlim()[1] + 1.1)  # names of the stars stand there
    axes[2].set_xlim(axes[0].get_xlim())
    axes[3].set_xticks(range(3, 8), list("34567"))
    plots.legends_below(figure, axes[0], axes[3], (1, 1))
    drawn_by_them = theirs.reset_index().assign(ordering="fifo", load=9.0, seed=42, released=True)
    data = pd.concat([*(table for _, table, _ in shown), far, drawn_by_them])
    kept = ["ordering", "mechanism", "released", "load", "seed", "mean_jct_h"]
    each = (("FIFO", "single_gpu"), ("LAS", "orderings"), ("dotted", "overload"))
    told = "; ".join(f"{name}: {windows(results, study)}" for name, study in each)
    return Drawn(figure, data[kept], {"windows": told})


@PAGE.figure(
    "figure_2a",
    "Figure 2a: sensitivity to CPUs",
    "Time of an iteration over CPUs per GPU with all memory, from the published profiles. Language models "
    "need one CPU, and are the same line; ShuffleNet and AlexNet need twelve. In the paper 12 CPUs make AlexNet "
    "{alexnet:g} times as fast "
    "as 3, and 9 CPUs ResNet18 {resnet18:g} times.",
)
def figure_2a(_: Results) -> Drawn:
    from simulator.workloads.networks import dnn_models, sensitivity_matrices

    figure, axes = plots.canvas(1, 2)
    rows: list[dict[str, Any]] = []
    alike: tuple[dict[Points, list[str]], ...] = ({}, {})
    for name, matrix in sensitivity_matrices().items():
        network = dnn_models()[name]
        seconds = network.iteration_time_s / matrix.relative[:, -1]
        line = tuple(zip(matrix.cpus.tolist(), (seconds / seconds[0]).tolist(), strict=True))
        alike[network.task == "language"].setdefault(line, []).append(network.title)
        points = zip(matrix.cpus.tolist(), seconds.tolist(), strict=True)
        rows += [{"model": name, "cpus": c, "iteration_time_s": s} for c, s in points]
    for ax, lines in zip(axes, alike, strict=True):
        for style, (line, titles) in enumerate(lines.items()):
            ax.plot(
                *zip(*line, strict=True), marker=MARKERS[style], color=PALETTE[style],
                # Lines that meet stay visible, the later ones smaller.
                markersize=9 - style, label=", ".join(titles),
            )  # fmt: skip
    for ax, title in zip(axes, ("image and speech", "language: no gain"), strict=True):
        ax.set(xlabel="CPUs per GPU", ylabel="time of an iteration, relative to 1 CPU")
        ax.set(title=title, ylim=(0, 1.08))
        ax.set_xticks((1, 3, 6, 9, 12, 24))
        ax.legend()
    words = {name: PAGE[f"faster.{name}"].low for name in ("alexnet", "resnet18")}
    alexnet, resnet = (sensitivity_matrices()[name] for name in words)
    note(
        axes[0],
        f"12 over 3 CPUs, AlexNet: {alexnet(12, 250) / alexnet(3, 250):.2f}; paper: {words['alexnet']:g}\n"
        f"9 over 3 CPUs, ResNet18: {resnet(9, 250) / resnet(3, 250):.2f}; paper: {words['resnet18']:g}",
    )
    return Drawn(figure, pd.DataFrame(rows), words)


def example() -> Table:
    """Tables 1 to 3: four jobs of 4 GPUs on two servers, with rates from the matrices.

    Columns: job, schedule, cpus, memory_gb (per job), relative time of an epoch.
    """
    from policies.synergy.demand import Kind, ServerSize, sensitive
    from policies.synergy.mechanisms import Tune
    from policies.synergy.slots import Packing
    from simulator.workloads.networks import SERVER, dnn_models, sensitivity_matrices

    capacity = ServerSize.of(SERVER)
    names = ("resnet18", "m5", "transformer", "gnmt")
    matrices = sensitivity_matrices()
    kinds: list[Kind] = [sensitive(matrices[n], 4, capacity) for n in names]
    packing = Packing(capacity, 2, kinds)
    for kind in (1, 0, 2, 3):
        spec = kinds[kind]
        Tune().place(packing, kind, (spec.best, spec.fair) if spec.exceeds_fair else (spec.best,))
    tuned = {s.kind: (4 * s.share.cpus, 4 * s.share.memory_gb) for s in packing.slots}
    printed = {0: (23.0, 400.0), 1: (12.0, 450.0), 2: (1.0, 100.0), 3: (12.0, 50.0)}
    schedules = {
        "GPU-proportional (Table 2)": dict.fromkeys(range(4), (12.0, 250.0)),
        "as printed (Table 3)": printed,
        "Synergy-Tune": tuned,
    }
    rows = [
        (f"J{job + 1} {dnn_models()[name].title}", schedule, *given[job],
         1 / matrices[name](given[job][0] / 4, given[job][1] / 4))
        for schedule, given in schedules.items() for job, name in enumerate(names)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["job", "schedule", "cpus", "memory_gb", "relative_time"])


@PAGE.figure(
    "figure_3",
    "Figure 3: the example of Tables 1 to 3",
    "Four jobs of 4 GPUs on two servers, rates from the published profiles; the bars show what each job gets. The paper "
    "measures {printed:g} times on average with ResNet18 on OpenImages, "
    "which gains from memory; the profiles, on ImageNet, do not show that gain, and M5 gains "
    "nothing from memory at 3 CPUs per GPU. Synergy-Tune as written cannot give J1 the 23 CPUs "
    "of Table 3: its demand is all 24 of a server, and the CPU that J3 needs reduces it to 12.",
)
def figure_3(_: Results) -> Drawn:
    table, printed = example(), PAGE["example"].low
    figure, (ax,) = plots.canvas(1, 1, width=8)
    names = list(dict.fromkeys(table["job"]))
    for i, (schedule, part) in enumerate(table.groupby("schedule", sort=False)):
        at = [j + 0.27 * (i - 1) for j in range(len(names))]
        label = f"{schedule}: mean {part['relative_time'].mean():.2f}"
        drawn = ax.bar(at, part["relative_time"], 0.25, label=label, color=PALETTE[i])
        given = [
            f"{c:g} CPUs\n{m:.0f} GB" for c, m in zip(part["cpus"], part["memory_gb"], strict=True)
        ]
        ax.bar_label(drawn, given, fontsize=7, label_type="center", color="white")
    plots.paper_line(ax, 1 / printed, f"paper: mean 1 / {printed:g} = {1 / printed:.2f}")
    ax.set_xticks(range(len(names)), names)
    ax.set(xlabel="job", ylabel="time of an epoch, proportional = 1")
    plots.legend_below(figure, ax, 2)
    return Drawn(figure, table, {"printed": printed})


@PAGE.figure(
    "figure_5",
    "Figure 5: profiling, predicted against published",
    "Lines: a model of the input pipeline (storage, preparation, GPU) fitted to half of the "
    "published points (full marks). Hollow marks: the other half, which the model has not seen. "
    "The paper compares its profile of ResNet18 with runs on its servers, {printed} over memory; the "
    "published profile of ResNet18 does not depend on memory. "
    "The binary search takes 8 points: 6 of the search, and those at 1 CPU and at the "
    "proportional share.",
)
def figure_5(results: Results) -> Drawn:
    from simulator.workloads.networks import dnn_models

    held_out = profiles(results, "held_out")
    figure, axes = plots.canvas(1, 2)
    memory = held_out[(held_out["half"] == "memory") & (held_out["model"] == "resnet18")]
    of_cpus = held_out[(held_out["half"] == "cpus") & (held_out["memory_gb"] == 250)]
    shown = [
        (0, f"ResNet18, {c:g} CPUs", memory[memory["cpus"] == c], "memory_gb") for c in (3, 6, 12)
    ]
    shown += [
        (1, dnn_models()[name].title, of_cpus[of_cpus["model"] == name], "cpus")
        for name in ("resnet18", "alexnet")
    ]
    for panel, label, rows, x in shown:
        i = len({line.get_color() for line in axes[panel].lines})
        axes[panel].plot(rows[x], rows["fitted"], color=PALETTE[i], label=label)
        for given, fill in ((True, PALETTE[i]), (False, "none")):
            at = rows[rows["given"] == given]
            axes[panel].plot(at[x], at["published"], MARKERS[i], color=PALETTE[i], markerfacecolor=fill,
                             markersize=7, linestyle="none")  # fmt: skip
    for ax, title, xlabel in zip(
        axes,
        ("over memory (1: 3 CPUs, 62.5 GB)", "over CPUs, at 250 GB"),
        ("memory per GPU, GB", "CPUs per GPU"),
        strict=True,
    ):
        ax.plot([], [], "o", color=PAPER, label="published, given to the fit")
        ax.plot([], [], "o", color=PAPER, markerfacecolor="none", label="published, left out")
        ax.set(xlabel=xlabel, ylabel="relative throughput", title=title)
        ax.set_ylim(0, None)
    out = memory[~memory["given"].astype(bool)]
    worst = 100 * (out["fitted"] / out["published"] - 1).abs().max()
    note(
        axes[0],
        f"worst error at points left out, all CPUs: {worst:.1f} %;\npaper: {PAGE['profile-error'].printed}",
    )
    plots.legends_below(figure, axes[0], axes[1])
    data = held_out[held_out["model"].isin(["alexnet", "resnet18"])]
    return Drawn(figure, data, {"printed": PAGE["profile-error"].printed})
