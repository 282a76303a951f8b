"""CPU time of a frame of the replay of 1,000 and 10,000 jobs, in Chromium.

python -m benchmarks.bench_player

A screen shows 60 frames a second, 16 ms each. Two minutes of the run pass from frame to frame.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
FRAMES = 60


def main() -> None:
    """Print milliseconds a frame; nothing where there is no Chromium."""
    # The browser and the runs are those of the tests of the player.
    sys.path += [str(TESTS / "report"), str(TESTS / "replay")]
    from browser import CHROMIUM, Browser
    from replay_runs import fixed_jobs

    from experiments.replay import replay

    if CHROMIUM is None:
        print("needs Chromium (Debian: apt-get install chromium)")
        return
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder, "profile"))
        browser.call("Performance.enable", timeDomain="threadTicks")

        def busy_s() -> float:
            metrics = browser.call("Performance.getMetrics")["metrics"]
            return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

        for jobs in (1_000, 10_000):
            page = replay(fixed_jobs(jobs, 100), Path(folder, f"{jobs}.html"))
            browser.open(page.as_uri(), 1280)
            browser.run("player.jump(player.replay.end * 0.5)")
            before = busy_s()
            browser.run(
                f"for (let k = 1; k <= {FRAMES}; k++)"
                " player.jump(player.replay.end * 0.5 + k * 120, false)"
            )
            print(f"{jobs:>6} jobs: {(busy_s() - before) / FRAMES * 1e3:.2f} ms a frame")
        browser.close()


if __name__ == "__main__":
    main()
