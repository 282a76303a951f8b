"""The test of admission as it is written down: at every completion, all jobs are looked at."""

import math
from collections.abc import Sequence

from simulator.features.admission import Promise
from simulator.model import tolerances


def all_on_time_slowly(promises: Sequence[Promise], total_gpus: float) -> bool:
    """Earliest due date first with preemption; the same answer as `simulator.features.admission.all_on_time`."""
    left = {p.job: p.left_s for p in promises}
    waiting = sorted(promises)
    now_s = 0.0
    while waiting:
        free, running = total_gpus, []
        for p in waiting:
            if p.gpus <= free:
                free -= p.gpus
                running.append(p)
        if not running:
            return False
        step_s = min(left[p.job] for p in running)
        now_s += step_s
        for p in running:
            left[p.job] -= step_s
            if left[p.job] <= tolerances.SUMS * max(1.0, p.left_s):
                if 0 <= p.due_in_s < now_s - tolerances.SUMS * max(1.0, now_s):
                    return False
                left[p.job] = -math.inf
        waiting = [p for p in waiting if left[p.job] != -math.inf]
    return True
