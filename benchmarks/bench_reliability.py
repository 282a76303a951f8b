"""CPU milliseconds of a failure of one job of 4,096 servers, and of the whole run. Wanted: at most 5 ms.

python -m benchmarks.bench_reliability
"""

import time

from benchmarks.bench_engine import print_unit
from experiments.studies.reliability.runs import SETTINGS, run_job


def main() -> None:
    """Print a line a setting."""
    for setting in SETTINGS:
        begin_s = time.process_time()
        found = run_job({"setting": setting, "change": {}, "seed": 1}).scalars
        cpu_s, failures = time.process_time() - begin_s, float(found["server_failures"] or 0)
        print(
            f"{setting:10} {cpu_s:6.1f} CPU s, {failures:6.0f} failures, {1000 * cpu_s / failures:5.2f} ms a failure"
        )
    print_unit()


if __name__ == "__main__":
    main()
