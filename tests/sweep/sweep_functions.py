"""Task functions of the tests; importable in worker processes as the module `sweep_functions`."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.sweep.task import Outcome
from simulator.files.keys import KeyedError


def draw(config: dict[str, Any]) -> Outcome:
    """A pure function with a table: what most tests run."""
    rng = np.random.default_rng(config["seed"])
    values = rng.normal(config.get("mean", 0.0), 1.0, config.get("size", 10))
    time.sleep(config.get("sleep_s", 0.0))
    return Outcome(
        {"mean_value": values.mean(), "largest": float(values.max()), "count": len(values)},
        {"values": pd.DataFrame({"value": values})},
    )


def logged(config: dict[str, Any]) -> Outcome:
    """Leaves a line for each time it came to its end, in a file of its own process."""
    outcome = draw(config)
    with Path(config["log"], f"{os.getpid()}.log").open("a") as file:
        file.write(f"{config['seed']}\n")
    return outcome


def trouble(config: dict[str, Any]) -> Outcome:
    """Does what `config["does"]` says for the seeds in `config["at"]`, else `draw`."""
    if config["seed"] not in config["at"]:
        return draw(config)
    match config["does"]:
        case "raise":
            raise ValueError(f"seed {config['seed']} is <not> wanted")
        case "bad key":
            raise KeyedError("load", f"is {config['seed']}, expected less")
        case "hang":
            while True:
                time.sleep(0.01)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            raise SystemExit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "generator exit":
            raise GeneratorExit
        case "bad scalar":
            return Outcome({"value": [1, 2]})
        case "no outcome":
            return None
    raise AssertionError(config["does"])


def until(config: dict[str, Any]) -> Outcome:
    """Fails until the file `config["mark"]` is there."""
    if not Path(config["mark"]).exists():
        raise FileNotFoundError("not yet")
    return draw(config)


def large(config: dict[str, Any]) -> Outcome:
    """A table of `kb` KB that does not compress, and as much text in its row."""
    rng = np.random.default_rng(config["seed"])
    outcome = Outcome({"text": rng.bytes(config.get("text_kb", 0) * 512).hex()})
    if config.get("kb", 0):
        values = rng.random(config["kb"] * 128)
        outcome.tables["values"] = pd.DataFrame({"value": values})
    time.sleep(0.005)
    return outcome
