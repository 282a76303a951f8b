"""Build the documentation as a site: ``python docs/site/build.py OUT``.

The pages of docs/ are copied beside a generated reference and gallery, and Sphinx makes the site. It
works from files: search included, nothing is loaded from elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPIED = {"SECURITY.md": "SECURITY.md", "CONTRIBUTING.md": "CONTRIBUTING.md",
          "CHANGELOG.md": "CHANGELOG.md", "data/README.md": "data.md"}  # fmt: skip
REFERENCE = {
    "simulator": ("simulator.entry", "simulator.model.workload", "simulator.model.cluster",
                  "simulator.model.contract", "simulator.model.performance", "simulator.metrics.result",
                  "simulator.statistics", "simulator.adaptation", "simulator.adaptation.rules",
                  "simulator.laws.base"),
    "workloads": ("simulator.workloads.poisson", "simulator.workloads.hierarchical",
                  "simulator.workloads.networks", "simulator.workloads.elastic",
                  "simulator.workloads.plain_csv", "simulator.workloads.reshaping",
                  "simulator.workloads.bootstrap", "simulator.laws.fitting"),
    "queueing": ("simulator.theory.mmc", "simulator.theory.fcfs", "simulator.theory.orders",
                 "simulator.theory.general", "simulator.theory.sizing"),
    "policies": ("policies.registry.making", "policies.registry.requirements", "policies.queues.list_scheduling",
                 "policies.queues.orders", "policies.greedy.policy", "policies.milp.policy",
                 "policies.rental.widths", "policies.synergy.policy"),
    "experiments": ("experiments.replay.page", "experiments.replay.events",
                    "experiments.classroom.page", "experiments.comparison.comparing",
                    "experiments.comparison.answer",
                    "experiments.sweep.task", "experiments.sweep.runner",
                    "experiments.sweep.store"),
}  # fmt: skip
"""Pages of the reference, with their modules; those of families that were taken out are left out."""


def main() -> None:
    """Stage the sources, make the two pages to play with, run Sphinx."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")
    source = out.parent / f"{out.name}-source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)
    (source / "extra").mkdir(parents=True)
    (source / "api").mkdir()
    stage(source)
    gallery(source)
    pages_to_play_with(source / "extra")
    command = ["-m", "sphinx", "-q", "-b", "html", "-c", str(HERE), str(source), str(out)]
    options = ["-D", f"html_extra_path={(source / 'extra').resolve()}"]
    sys.exit(subprocess.run([sys.executable, *command, *options], check=False).returncode)


def stage(source: Path) -> None:
    """Pages as they are, links to files of the repository turned to their copies."""
    for page in sorted([*(ROOT / "docs").glob("*.md"), HERE / "index.md"]):
        (source / page.name).write_text(_links(page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "decisions", source / "decisions")
    records = "\n".join(
        f"decisions/{page.stem}" for page in sorted((source / "decisions").glob("*.md"))
    )
    (source / "decisions.md").write_text(
        f"# Decisions\n\n```{{toctree}}\n{records}\n```\n", "utf-8"
    )
    for name, copy in COPIED.items():
        text = _links((ROOT / name).read_text(encoding="utf-8"))
        (source / copy).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", source / "images")
    for name, modules in REFERENCE.items():
        parts = [f"# Python: {name}"]
        for module in filter(importlib.util.find_spec, modules):
            directive = f"```{{eval-rst}}\n.. automodule:: {module}\n```"
            parts.append(f"## `{module}`\n\n{directive}")
        (source / "api" / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _links(text: str) -> str:
    """``(../data/README.md)`` and ``(docs/x.md)`` as the staged pages lie beside each other."""
    text = re.sub(r"\((?:\.\./|docs/)*(?:data/README\.md)", "(data.md", text)
    text = text.replace("(decisions)", "(decisions.md)")
    return re.sub(r"\((?:\.\./|docs/)+([\w/-]+\.md)", r"(\1", text)


def gallery(source: Path) -> None:
    """All committed figures of the papers, from the pages that a reproduction leaves."""
    parts = ["# Figures", "Each figure with the paper's value beside ours where it gives one."]
    for page in sorted((ROOT / "results" / "paper").glob("*/page.json")):
        content = json.loads(page.read_text(encoding="utf-8"))
        parts.append(f"## {page.parent.name.capitalize()}")
        for figure in content["figures"]:
            (source / "gallery").mkdir(exist_ok=True)
            file = figure.get("png", figure["csv"])  # a figure of numbers alone has no picture
            copy = f"gallery/{page.parent.name}_{file}"
            shutil.copy(page.parent / file, source / copy)
            shown = (
                f"![{figure['title']}]({copy})"
                if "png" in figure
                else f"Numbers: {{download}}`{file} <{copy}>`"
            )
            parts.append(f"### {figure['title']}\n\n{shown}\n\n{figure['caption']}")
    (source / "gallery.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def pages_to_play_with(folder: Path) -> None:
    """A replay of two policies, and the page for a class."""
    from experiments.classroom import classroom
    from experiments.replay import replay
    from policies import make_policy
    from simulator import Cluster, simulate
    from simulator.workloads.catalogs import read_catalog
    from simulator.workloads.hierarchical import HierarchicalJobs, generate

    catalog = read_catalog("hierarchical")
    workload = generate(HierarchicalJobs(num_nodes=5, seed=1))
    nodes = Cluster.of_vms(catalog, 5)
    runs = [simulate(workload, nodes, make_policy(name), seed=1) for name in ("edf", "milp")]
    replay(runs, folder / "replay-page.html", "EDF and the exact decision")
    made = ROOT / "results" / "quick" / "classroom.html"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        classroom(out=made)
    shutil.copy(made, folder / "classroom-page.html")


if __name__ == "__main__":
    main()
