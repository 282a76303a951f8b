"""The results that the five papers publish, and the row of the claims table that holds ours to each.

``ROWS[paper]``: (place, quantity) as the folder of facts lists them, and words of the row. What is
a setting has no row.
"""

from experiments.report.contents import Claim

ROWS = {
    "GPURental2024": {
        ("Fig1 (derived)", "k1*(b)"): "relative difference of widths and E[T] from the closed form",
        (
            "Fig1 (derived)",
            "E[T](b)",
        ): "relative difference of widths and E[T] from the closed form",
        ("Fig1 (derived)", "E[T1], E[T2]"): "E[T1] over E[T2] at b = 2, simulated",
        **{
            ("Fig1c (derived)", f"E[T] at b={b}"): f"mean response time at b = {b}, simulated"
            for b in (1, 2, 5, 10, 20, 30)
        },
        ("Lemma2", "budget B=sum rho_i k_i/s_i(k_i)"): "whose rented GPUs agree with b = 5",
        ("Thm1", "fixed width is optimal"): "rival policies below the frontier",
        ("Eq2", "stability"): "least budget for which there are widths",
    },
    "Synergy2022": {
        ("Abstract", "average JCT improvement vs GPU-proportional"): "on the released draw",
        ("1", "avg JCT improvement physical"): "average JCT, SRTF, proportional over tune",
        ("1", "Tune vs Opt"): "tune over opt, average JCT, FIFO, single GPU, 9 jobs/h",
        ("2.1", "AlexNet speed CPU:GPU 3->12"): "AlexNet faster with 12",
        ("2.1", "ResNet18 speed CPU:GPU 3->9"): "ResNet18 faster with 9",
        ("2.1", "ResNet18 62GB->500GB memory"): "ResNet18 faster with 500",
        ("2.1/Fig3", "example 4 jobs avg JCT"): "time of an epoch, Table 2 over Table 3",
        ("3.1", "naive profiling 24 CPU x 10 mem"): "minutes to profile every share",
        ("3.1", "optimistic profiling"): "minutes with every number of CPUs",
        ("3.1/Fig5a", "profile error"): "ResNet18's throughput at memory sizes left out",
        **{
            ("Table5", f"{quantity} {mechanism}"): f"{text}, {ours}"
            for quantity, text in (
                ("FIFO makespan", "makespan of the static trace, FIFO"),
                ("SRTF avg JCT", "average JCT, SRTF"),
                ("SRTF p99 JCT", "99th percentile of JCT, SRTF"),
            )
            for mechanism, ours in (
                ("Proportional deploy/sim", "proportional"),
                ("Tune deploy/sim", "tune"),
                ("Opt sim" if quantity == "FIFO makespan" else "Opt", "opt"),
            )
        },
        (
            "5.2",
            "makespan / avg / p99 improvement",
        ): "makespan of the static trace, FIFO, proportional over",
        ("5.2", "sim vs real"): "hours from the deployed ones",
        ("5.2", "Tune vs Opt"): "99th percentile of JCT, SRTF, tune over opt",
        ("Fig6a", "SRTF avg JCT prop/Synergy"): "average JCT, SRTF, proportional 30",
        ("Fig6a", "LAS avg JCT prop/Synergy"): "average JCT, LAS, proportional 32",
        ("Fig6a", "FIFO avg JCT prop/Synergy"): "average JCT, FIFO, proportional 71",
        ("Fig6b", "short avg prop/Synergy"): "average of short jobs, tune 1.7",
        ("Fig6b", "long avg prop/Synergy"): "average of long jobs, tune 68",
        ("Fig6b", "short p99"): "99th percentile of short jobs, tune 4",
        ("Fig6b", "long p99"): "99th percentile of long jobs, tune 641",
        ("5.3.1", "avg JCT reduction short and long"): "JCT saved under SRTF, long jobs",
        ("Fig6c", "max individual speedup"): "largest speed-up of one job",
        (
            "Fig9",
            "FIFO single-GPU avg JCT at 9 jobs/h prop/Tune/Opt",
        ): "drawn here by the law of Section 5.1, opt 20",
        ("5.3.2", "single / multi GPU avg JCT"): "proportional over tune, LAS, several GPUs",
        ("5.3.2", "LAS multi p95 long"): "95th percentile of long jobs",
        ("5.3.2", "FTF single / multi"): "FTF the most delayed first, several GPUs",
        ("5.4/Fig10", "CPU utilisation prop / Tune"): "CPUs in use, tune",
        ("5.5", "avg JCT gain at CPU:GPU 3/4/5/6"): "6 CPUs per GPU 1.8",
        ("5.6", "Tune vs Opt speed"): "opt slower than tune",
        ("5.7", "vs DRF / Tetris"): "TETRIS: static over tuned demands",
        ("A.1.3", "fragmented jobs bound"): "jobs that LP 2 cuts",
    },
}
SETTINGS = {
    "GPURental2024": {"types", "example"},
    "Synergy2022": {"load of Fig10a", "duration law", "server", "round"},
}  # fmt: skip
"""What a paper chose, not what it found: laws, periods, prices, weights. By name, so that a result
of the same place is not left out with it."""
SETTING_PLACES: set[tuple[str, str]] = set()
"""Tables of machines and of the jobs of a replay."""


def missing(paper: str, claims: list[Claim]) -> list[str]:
    """Words of `ROWS` that no claim has."""
    said = [f"{c.claim} {c.paper_value}" for c in claims]
    return [w for w in ROWS[paper].values() if not any(w in line for line in said)]
