"""Small instances in the authors' formats, of our own making.

The three folders under ``released`` were drawn with `draw` (seeds 1 to 3), and their totals were worked out
with `released_program`; the test draws more.
"""

import csv

import numpy as np

SIZES = (("S1", "A", 1, 0.5), ("S2", "A", 2, 1.1), ("S4", "A", 4, 2.0),
         ("T2", "B", 2, 0.2), ("T3", "B", 3, 0.7))  # fmt: skip
NODES = (("V", 4), ("T", 1))
WATT = {"V": (300, 450, 580, 700), "T": (120,)}


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def draw(folder, seed, fixed, num_jobs=12, num_nodes=3, load=1.0):
    """An instance; on VMs with some times listed twice, the second one longer or shorter."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    times, jobs, submit = [], [], 0.0
    for j in range(num_jobs):
        name, best = f"J{j + 1}", np.inf
        base = {t: rng.uniform(500, 5000) for t in "ABVT"}
        curve = {g: g ** -rng.uniform(0.1, 0.9) * rng.uniform(0.8, 1.2) for g in range(1, 5)}
        if fixed:
            for t, most in NODES:
                for g in range(1, most + 1):
                    time = round(base[t] * curve[g], 3)
                    times.append((name, t, g, time))
                    best = min(best, time)
        else:
            for vm, t, most, price in SIZES:
                for g in range(1, most + 1):
                    time = round(base[t] * curve[g], 3)
                    listed = [time]
                    if rng.random() < 0.3:
                        listed.append(round(time * rng.uniform(0.5, 2.0), 3))
                    times += [(name, vm, t, g, most, price, value) for value in listed]
                    best = min(best, *listed)
        due = round(submit + best * rng.uniform(0.5, 4.0), 3)
        jobs.append((name, round(submit, 3), due, round(rng.uniform(0.001, 0.02), 5)))
        submit += rng.exponential(900.0 / num_nodes / load)
    if fixed:
        write(folder / "Lof_Selectjobs.csv",
              ("ID", "SubmissionTime", "Deadline", "TardinessWeight"), jobs)  # fmt: skip
        write(folder / "SelectJobs_times.csv", ("ID", "GPUtype", "nGPUs", "ExecutionTime"), times)
        nodes = [(f"n{n + 1}", *NODES[n % len(NODES)]) for n in range(num_nodes)]
        write(folder / "tNodes.csv", ("ID", "GPUtype", "nGPUs"), nodes)
        costs = [(t, g + 1, w, 0.2, 1.3, w / 1000 * 0.2 * 1.3)
                 for t, watt in WATT.items() for g, w in enumerate(watt)]  # fmt: skip
        write(folder / "GPU-costs.csv",
              ("GPUtype", "nGPUs", "PowerConsumption[W]", "EnergyCost", "PUE", "cost"),
              costs)  # fmt: skip
        return folder
    write(folder / "Lof_Selectjobs.csv",
          ("UniqueJobsID", "SubmissionTime", "Deadline", "Tardinessweight"), jobs)  # fmt: skip
    write(folder / "SelectJobs_times.csv",
          ("UniqueJobsID", "VMtype", "GPUtype", "nGPUs", "max_nGPUs", "cost", "ExecutionTime"),
          times)  # fmt: skip
    write(folder / "tNodes.csv", ("Nodes",), [(f"n{n + 1}",) for n in range(num_nodes)])
    return folder
