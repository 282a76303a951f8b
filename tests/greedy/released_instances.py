"""Small instances in the authors' formats, of our own making."""

import numpy as np
import pandas as pd

SIZES = (("S1", "A", 1, 0.5), ("S2", "A", 2, 1.1), ("S4", "A", 4, 2.0),
         ("T2", "B", 2, 0.2), ("T3", "B", 3, 0.7))  # fmt: skip
NODES = (("V", 4), ("T", 1))
WATT = {"V": (300, 450, 580, 700), "T": (120,)}


def draw(folder, seed, fixed, num_jobs=12, num_nodes=3, load=1.0, twice=0.3):
    """An instance; on VMs with a share of the times listed twice, the second one longer or shorter."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    times, jobs, submit = [], [], 0.0
    for j in range(num_jobs):
        name = f"J{j + 1}"
        base = {t: rng.uniform(500, 5000) for t in "ABVT"}
        curve = {g: g ** -rng.uniform(0.1, 0.9) * rng.uniform(0.8, 1.2) for g in range(1, 5)}
        of_job = []
        if fixed:
            of_job = [(name, t, g, round(base[t] * curve[g], 3))
                      for t, most in NODES for g in range(1, most + 1)]  # fmt: skip
        else:
            for vm, t, most, price in SIZES:
                for g in range(1, most + 1):
                    listed = [round(base[t] * curve[g], 3)]
                    if rng.random() < twice:
                        listed.append(round(listed[0] * rng.uniform(0.5, 2.0), 3))
                    of_job += [(name, vm, t, g, most, price, value) for value in listed]
        times += of_job
        due = round(submit + min(row[-1] for row in of_job) * rng.uniform(0.5, 4.0), 3)
        jobs.append((name, round(submit, 3), due, round(rng.uniform(0.001, 0.02), 5)))
        submit += rng.exponential(900.0 / num_nodes / load)
    nodes = [(f"n{n + 1}", *NODES[n % len(NODES)]) for n in range(num_nodes)]
    if fixed:
        costs = [(t, g + 1, w, 0.2, 1.3, w / 1000 * 0.2 * 1.3)
                 for t, watt in WATT.items() for g, w in enumerate(watt)]  # fmt: skip
        tables = {
            "Lof_Selectjobs": ("ID SubmissionTime Deadline TardinessWeight", jobs),
            "SelectJobs_times": ("ID GPUtype nGPUs ExecutionTime", times),
            "tNodes": ("ID GPUtype nGPUs", nodes),
            "GPU-costs": ("GPUtype nGPUs PowerConsumption[W] EnergyCost PUE cost", costs),
        }
    else:
        of_times = "UniqueJobsID VMtype GPUtype nGPUs max_nGPUs cost ExecutionTime"
        tables = {
            "Lof_Selectjobs": ("UniqueJobsID SubmissionTime Deadline Tardinessweight", jobs),
            "SelectJobs_times": (of_times, times),
            "tNodes": ("Nodes", [node[:1] for node in nodes]),
        }
    for name, (header, rows) in tables.items():
        pd.DataFrame(rows, columns=header.split()).to_csv(folder / f"{name}.csv", index=False)
    return folder
