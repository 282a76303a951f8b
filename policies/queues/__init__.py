"""Jobs of fixed demand in a queue: orders, who is served, what is free, backfilling, priorities, preemption."""
