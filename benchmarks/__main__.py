"""Run every benchmark of this folder, one after the other, each in a process of its own.

python -m benchmarks           all of them
python -m benchmarks --check    ratios alone, and whether they are within their bounds
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Exit code 0 if all ran, and, of the gate, if all ratios are within their bounds."""
    if "--check" in sys.argv[1:]:
        return subprocess.call([sys.executable, "-m", "benchmarks.check"])
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    code = 0
    for name in names:
        print(f"== {name}", flush=True)
        code |= subprocess.call([sys.executable, "-m", f"benchmarks.{name}"])
    return code


if __name__ == "__main__":
    sys.exit(main())
