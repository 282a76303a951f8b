"""Files of a validation: validate.csv, validation.json, validate.png."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.files import write_whole

if TYPE_CHECKING:
    from experiments.scenario.schema import Scenario
    from experiments.validation.agreement import Agreement
    from experiments.validation.calibrating import HeldOut
    from experiments.validation.validating import Validation
    from simulator.metrics.waits import Waits
    from simulator.statistics import Estimate

FORMAT = "schedlab validation 1"
JSON = "validation.json"
CALIBRATED = "calibrated.toml"


def write_validation(found: Validation, folder: Path) -> Iterator[Path]:
    """Write the files; yields their paths."""
    from experiments.pictures.saving import save_picture
    from experiments.text import with_safe_cells, write_csv
    from experiments.validation.picture import picture_of

    content = io.BytesIO()
    write_csv(with_safe_cells(jobs_table(found)), content)
    yield _written(folder / "validate.csv", content.getvalue())
    text = json.dumps(_finite(numbers(found)), indent=2, allow_nan=False, ensure_ascii=False)
    yield _written(folder / JSON, text + "\n")
    if found.held is not None and found.tried:
        yield _written(folder / CALIBRATED, calibrated(found.scenario, found.held))
    save_picture(picture_of(found), folder / "validate.png")
    yield folder / "validate.png"


def calibrated(scenario: Scenario, held: HeldOut) -> str:
    """The scenario with the rules and the number of nodes that were fitted, as TOML."""
    from experiments.comparison.runs import config_of
    from experiments.config import toml_text
    from experiments.scenario.options import with_settings

    made = with_settings(scenario, held.settings)
    config = {k: v for k, v in config_of(made).items() if k in made.model_fields_set}
    return toml_text(config)


def jobs_table(found: Validation) -> Any:
    """One row a job: its name, recorded and simulated wait, and how long the recorded one had room, in s.

    Further policies have a column ``simulated_wait_s POLICY`` each.
    """
    import pyarrow as pa

    sides = found.sides[found.policy]
    columns: dict[str, Any] = {
        "job_id": [*sides.job_id],
        "partition": [*sides.log.partition],
        "submit_s": sides.recorded.submit_s,
        "gpus": sides.recorded.gpus,
        "recorded_wait_s": sides.recorded.wait_s,
        "simulated_wait_s": sides.simulated.wait_s,
        "had_room_s": sides.recorded.room_s(sides.pool_gpus),
    }
    for policy, other in found.sides.items():
        if policy != found.policy and len(other.job_id) == len(sides.job_id):
            columns[f"simulated_wait_s {policy}"] = other.simulated.wait_s
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def jobs_file(scenario: Scenario) -> str:
    """The file or folder of the jobs; empty where they are drawn."""
    return str(getattr(scenario.workload, "path", ""))


def log_hash(scenario: Scenario) -> str:
    """Hash of that file, by which another log of the same name is seen; empty where there is none."""
    from experiments.sweep.codeversion import content_hash

    path = jobs_file(scenario)
    return content_hash(path) if path else ""


def numbers(found: Validation) -> dict[str, Any]:
    """The validation as JSON holds it."""
    return {
        "format": FORMAT,
        "log": Path(jobs_file(found.scenario) or found.log).name,
        "log_sha256": log_hash(found.scenario),
        "policy": found.policy,
        "agreements": {name: _agreement(each) for name, each in found.agreements.items()},
        "partitions": {name: _agreement(each) for name, each in found.partitions.items()},
        "rules": [rule.words for rule in found.suggested],
        "failures": [each.words() for each in found.failures],
        "held_out": None if found.held is None else _held(found.held),
        "held_out_with_rules_that_were_dropped": None
        if found.dropped is None
        else _held(found.dropped),
        "verdict": {
            "kind": found.verdict.kind,
            "words": found.verdict.words,
            "settings": [*found.verdict.settings],
            "factor": found.verdict.factor,
        },
    }


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "recorded": _waits(found.recorded),
        "simulated": _waits(found.simulated),
        "recorded_not_capacity": found.recorded_room,
        "simulated_not_capacity": found.simulated_room,
        "ratio": _estimate(found.ratio),
        "rank_correlation_of_waits": found.waits,
        "correlation_of_hourly_queue": found.queue,
        "correlation_of_hourly_use": found.use,
    }


def _waits(waits: Waits) -> dict[str, Any]:
    return waits._asdict()


def _estimate(of: Estimate) -> dict[str, float]:
    return {"value": of.mean, "lower": of.lower, "upper": of.upper}


def _held(held: HeldOut) -> dict[str, Any]:
    return {
        "nodes": held.nodes,
        "documented_nodes": held.of,
        "settings": [*held.settings],
        "rules": [rule.words for rule in held.rules],
        "fit": held.fit,
        "simulated_mean_wait_s": held.simulated_s,
        "recorded_mean_wait_s": held.recorded_s,
        "ratio": _estimate(held.ratio),
    }


def _finite(value: Any) -> Any:
    """The value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _written(path: Path, content: str | bytes) -> Path:
    write_whole(path, content)
    return path
