"""A run's folder, read again for pictures, players and explanations; people edit these files.

tables = read_run(folder)       # jobs, schedule and machines, which fit together
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from experiments.config import validated
from experiments.sweep.chosen import one_run
from experiments.sweep.store import is_sweep
from simulator.arguments import MOST_GPUS, MOST_NODES
from simulator.errors import InputError
from simulator.files.inputs import MOST_BYTES, read_input, read_json
from simulator.metrics.run_tables import TABLES
from simulator.model.tolerances import INSTANT_S, SUMS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pandas import DataFrame

SHARE_COLUMNS = ("job_id", "node", "node_type", "gpus", "start_s", "end_s")
"""Of schedule.csv, whose rows are shares."""
NAMES = {c.name for schema, _ in TABLES.values() for c in schema.columns if c.type == "text"}
"""Columns of texts: a job may be called "NA"."""
WRITTEN = "a file that `schedlab run --out` wrote"
SHOWN = 60
"""Letters of a value that a message shows."""
MOST = 1e15
"""Seconds beyond it are a mistake."""

Count = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Kind(BaseModel):
    """A node type; ``gpus`` is None on a rental pool."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)] | None
    per_hour: Price
    per_gpu_hour: Price
    energy_per_hour: list[Price] | None = None
    gpu_type: str = ""


class MachinesFile(BaseModel):
    """Contents of machines.json (`experiments.scenario.output`); runs of earlier versions have fewer keys."""

    model_config = ConfigDict(extra="allow", strict=True)

    currency: str
    num_nodes: Annotated[int, Field(ge=1, le=MOST_NODES)]
    num_controllers: Annotated[int, Field(ge=1, le=MOST_NODES)] = 1
    node_types: Annotated[list[_Kind], Field(min_length=1)]
    type_of: list[Count] | None
    due_s: list[Finite | None] | None
    weight_per_s: list[Finite] | None
    price_factor: list[Price] = Field(default_factory=list)
    limits: list[Annotated[list[Finite], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list
    )
    elastic: bool = False


class RunTables(NamedTuple):
    """The tables of one run, checked beside each other.

    Attributes
    ----------
    name : of the folder; of a run of a sweep, its labels.
    jobs : one row a job; the names differ.
    schedule : one row a share; of these jobs, on nodes that exist and have so many GPUs.
    machines : None where the folder has no machines.json (a run of an earlier version).
    """

    name: str
    jobs: DataFrame
    schedule: DataFrame
    machines: dict[str, Any] | None


def read_run(folder: Path, *columns: str, where: Mapping[str, str] | None = None) -> RunTables:
    """The jobs, the schedule and the machines of a run, or of the run of a sweep with the labels ``where``.

    Parameters
    ----------
    columns : what schedule.csv needs beside `SHARE_COLUMNS`; numbers.

    Raises
    ------
    InputError
        A file, column or row is missing, a value is none, or the files do not fit together; one line.
    """
    times = ("arrival_s", "completion_s", "tardiness_s")
    facts = (
        "first_start_s", "gpus", "ideal_s", "requested_s", "slowdown", "failures", "lost_gpu_s",
    )  # fmt: skip
    jobs_path, path = folder / "jobs.csv", folder / "schedule.csv"
    numbers, amounts = ("node", "gpus", "start_s", "end_s", *columns), ("cpus", "memory_gb")
    if is_sweep(folder):
        name, schedule, jobs = one_run(folder, where or {})
        jobs = _checked(jobs, jobs_path, ("job_id", *times), times, facts)
        schedule = _checked(schedule, path, (*SHARE_COLUMNS, *columns), numbers, amounts)
    else:
        if where:
            raise InputError(f"--where: given with {folder}, which holds one run; expected a sweep")
        name = folder.resolve().name
        jobs = read_run_table(jobs_path, ("job_id", *times), times, or_blank=facts)
        schedule = read_run_table(
            path, (*SHARE_COLUMNS, *columns), numbers, or_blank=amounts, may_be_empty=True
        )
    again = jobs["job_id"].duplicated().to_numpy()
    _expect(~again, jobs, "job_id", jobs_path, "another name in each row")
    ordered = (jobs["completion_s"] >= jobs["arrival_s"]).to_numpy()
    _expect(ordered, jobs, "completion_s", jobs_path, "a time after arrival_s")
    if "first_start_s" in jobs:
        early = (jobs["first_start_s"] < jobs["arrival_s"] - INSTANT_S).to_numpy()
        _expect(~early, jobs, "first_start_s", jobs_path, "a time after arrival_s")
    known = schedule["job_id"].isin(set(jobs["job_id"])).to_numpy()
    _expect(known, schedule, "job_id", path, "a job of jobs.csv")
    ordered = (schedule["end_s"] >= schedule["start_s"]).to_numpy()
    _expect(ordered, schedule, "end_s", path, "a time after start_s")
    own = jobs.set_index("job_id").loc[schedule["job_id"]]
    inside = schedule["start_s"].to_numpy() >= own["arrival_s"].to_numpy() - INSTANT_S
    _expect(inside, schedule, "start_s", path, "a time after the job's arrival_s in jobs.csv")
    inside = schedule["end_s"].to_numpy() <= own["completion_s"].to_numpy() + INSTANT_S
    _expect(inside, schedule, "end_s", path, "a time before the job's completion_s in jobs.csv")
    for amount in (a for a in amounts if a in schedule.columns):
        good = (schedule[amount] >= 0).to_numpy()
        _expect(good, schedule, amount, path, "a number >= 0")
    machines = read_machines(folder, len(jobs))
    _expect_room(schedule, path, machines)
    return RunTables(name, jobs, schedule, machines)


def _expect_room(schedule: DataFrame, path: Path, machines: dict[str, Any] | None) -> None:
    """Raise InputError where a share is on no node of the run, or a node gives more GPUs than it has."""
    import numpy as np

    count = MOST_NODES if machines is None else machines["num_nodes"]
    expect_nodes(schedule, count, path)
    gpus = schedule["gpus"].to_numpy()
    limit = np.full(len(schedule), float(MOST_GPUS))
    if machines is not None:
        of_type = {kind["name"]: kind["gpus"] or np.inf for kind in machines["node_types"]}
        named = schedule["node_type"].isin(of_type).to_numpy()
        _expect(named, schedule, "node_type", path, "a type of machines.json")
        limit = schedule["node_type"].map(of_type).to_numpy(dtype=np.float64)
    _expect((gpus > 0) & (gpus <= limit), schedule, "gpus", path, "as many as the node has")
    # In use on each node after each start: what ends at an instant makes place for what starts then.
    rows = np.arange(len(schedule))
    row = np.concatenate([rows, rows])
    by = np.concatenate([-gpus, gpus])
    time_s = np.concatenate([schedule["end_s"], schedule["start_s"]])
    order = np.lexsort([by > 0, time_s, schedule["node"].to_numpy()[row]])
    used = np.cumsum(by[order])  # each node comes back to 0 at its end
    over = used > limit[row[order]] + SUMS * np.maximum(1.0, np.abs(by).cumsum())
    fits = np.ones(len(schedule), dtype=np.bool_)
    fits[row[order][over]] = False
    _expect(fits, schedule, "gpus", path, "no more beside the other jobs than the node has")


def _expect(
    good: npt.NDArray[np.bool_], table: DataFrame, column: str, path: Path, expected: str
) -> None:
    """Raise InputError for the first row that is not good."""
    import numpy as np

    if not good.all():
        row = int(np.argmin(good))
        value = table[column].iloc[row]
        value = f"{value:g}" if isinstance(value, float) else str(value)
        shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}.."
        raise InputError(f"{path}, line {row + 2}: {column} is {shown}, expected {expected}")


def expect_nodes(table: DataFrame, count: int, path: Path) -> None:
    """Check the column ``node``, and make it one of whole numbers.

    Raises
    ------
    InputError
        A node is none of the ``count`` nodes of the run.
    """
    nodes = table["node"].to_numpy()
    good = (nodes >= 0) & (nodes < count) & (nodes % 1 == 0)
    _expect(good, table, "node", path, f"a whole number from 0 to {count - 1}")
    table["node"] = nodes.astype(int)


def read_machines(folder: Path, num_jobs: int) -> dict[str, Any] | None:
    """Contents of machines.json for a run with so many jobs; None where there is none.

    Raises
    ------
    InputError
        It is damaged, or its lists have other lengths than the run has nodes, types and jobs.
    """
    path = folder / "machines.json"
    if not path.exists():
        return None
    found = read_run_json(path)
    machines = validated(MachinesFile, found, str(path))
    lengths = {
        "type_of": machines.num_nodes,
        "price_factor": machines.num_nodes,
        "limits": len(machines.node_types),
        "due_s": num_jobs,
        "weight_per_s": num_jobs,
    }
    for key, wanted in lengths.items():
        values: Sequence[Any] | None = getattr(machines, key)
        if key in found and values is not None and len(values) != wanted:
            raise InputError(f"{path}: {key} has {len(values)} values, expected {wanted}")
    if (machines.due_s is None) != (machines.weight_per_s is None):
        raise InputError(f"{path}: due_s without weight_per_s, or the other way, expected both")
    for kind in machines.node_types:
        energy, wanted = kind.energy_per_hour, (kind.gpus or 0) + 1
        if energy is not None and len(energy) != wanted:
            raise InputError(
                f"{path}: energy_per_hour of {kind.name} has {len(energy)} values, expected {wanted}"
            )
    if max(machines.type_of or [0]) >= len(machines.node_types):
        raise InputError(
            f"{path}: type_of has {max(machines.type_of or [0])}, expected numbers of node_types"
        )
    return found


def read_run_json(path: Path, most: int = MOST_BYTES) -> dict[str, Any]:
    """A JSON file of a run's folder, of at most so many bytes, which holds a table of keys.

    Raises
    ------
    InputError
        It cannot be read, or holds something else.
    """
    found = read_json(path, WRITTEN, most)
    if not isinstance(found, dict):
        raise InputError(f"{path}: cannot be read, expected {WRITTEN}")
    return found


def read_run_table(
    path: Path,
    columns: tuple[str, ...],
    numbers: tuple[str, ...],
    *,
    or_blank: tuple[str, ...] = (),
    may_be_empty: bool = False,
) -> DataFrame:
    """A table of a run's folder with these columns, some of them finite numbers.

    Parameters
    ----------
    or_blank : columns that need not be there; numbers, or blank.

    Raises
    ------
    InputError
        No such file, columns or rows, or values that are no numbers; one line.
    """
    import pandas as pd

    content = read_input(path, WRITTEN)
    try:
        # A job may be called "NA"; in a column of numbers it is none.
        names = content.partition(b"\n")[0].decode().split(",")
        blanks = {n: ["", "nan", "NaN", "NA"] for n in names if n not in NAMES}
        table = pd.read_csv(
            BytesIO(content),
            dtype=dict.fromkeys(NAMES, str),
            keep_default_na=False,
            na_values=blanks,
        )
    except ValueError:  # also what pandas calls a parser's error
        raise InputError(f"{path}: cannot be read, expected {WRITTEN}") from None
    table = _checked(table, path, columns, numbers, or_blank)
    if table.empty and not may_be_empty:
        raise InputError(f"{path}: no rows, expected at least one")
    return table


def _checked(
    table: DataFrame,
    path: Path,
    columns: tuple[str, ...],
    numbers: tuple[str, ...],
    or_blank: tuple[str, ...],
) -> DataFrame:
    """The table, with its columns of numbers as such; see `read_run_table`."""
    import numpy as np
    import pandas as pd

    missing = [c for c in columns if c not in table.columns]
    if missing:
        raise InputError(f"{path}: no column {missing[0]!r}, expected {', '.join(columns)}")
    for name in (*numbers, *(n for n in or_blank if n in table.columns)):
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
        good = np.isfinite(values) | (table[name].isna().to_numpy() & (name in or_blank))
        _expect(good, table, name, path, "a number")
        sensible = ~(np.abs(values) > MOST) | (not name.endswith("_s"))
        _expect(sensible, table, name, path, f"a number up to {MOST:g} in size")
        table[name] = values
    return table
