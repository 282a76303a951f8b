"""Workers of a sweep as jobs of Slurm: docs/sweeps.md. It runs for as long as the sweep."""

import time

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    cores=32,  # of one job
    processes=32,  # one worker a core,
    memory="64GB",
    walltime="08:00:00",
    interface="ib0",  # the network that nodes share
    scheduler_options={"host": "0.0.0.0", "port": 8786},
    job_extra_directives=["--requeue"],
    # Workers leave before the job's end, and at different times; their runs go to others.
    worker_extra_args=["--lifetime", "7h50m", "--lifetime-stagger", "5m"],
)
cluster.adapt(minimum_jobs=1, maximum_jobs=8)
while True:
    time.sleep(60)
