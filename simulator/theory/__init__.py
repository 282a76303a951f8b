"""Closed forms of queueing theory, to lay beside the simulation and to size servers with.

Times in seconds, rates per second, loads in erlang (arrival rate times mean service time; the
mean number of busy servers). Kendall's letters: arrivals / service / servers, M memoryless, G
general; first come first served unless another order is named. Each function names its source;
K is Kleinrock, Queueing Systems (I 1975, II 1976), HB is Harchol-Balter, Performance Modeling and
Design of Computer Systems (2013).

Impossible parameters, a queue that is not stable among them, raise `InputError`, one line.
"""

from simulator.theory.fcfs import (
    invert_laplace,
    mg1_mean_response_s,
    mg1_mean_wait_s,
    mg1_wait_exceeds,
    mg1_wait_quantile_s,
)
from simulator.theory.general import (
    fcfs_wait_s,
    ggc_mean_wait_s,
    kingman_bound_s,
    mginf_number_pmf,
)
from simulator.theory.mmc import (
    ErlangA,
    erlang_a,
    erlang_b,
    erlang_c,
    littles_law,
    mm1_mean_number_at,
    mmc_mean_response_s,
    mmc_mean_wait_s,
    mmc_wait_exceeds,
    mmc_wait_quantile_s,
)
from simulator.theory.orders import (
    mg1_fb_response_s,
    mg1_priority_response_s,
    mg1_ps_response_s,
    mg1_sjf_response_s,
    mg1_srpt_response_s,
)
from simulator.theory.run_length import (
    RunLength,
    lost_share_run_length,
    response_run_length,
)
from simulator.theory.sizing import MOST_SERVERS, ServerSizing, size_servers

__all__ = [
    "MOST_SERVERS",
    "ErlangA",
    "RunLength",
    "ServerSizing",
    "erlang_a",
    "erlang_b",
    "erlang_c",
    "fcfs_wait_s",
    "ggc_mean_wait_s",
    "invert_laplace",
    "kingman_bound_s",
    "littles_law",
    "lost_share_run_length",
    "mg1_fb_response_s",
    "mg1_mean_response_s",
    "mg1_mean_wait_s",
    "mg1_priority_response_s",
    "mg1_ps_response_s",
    "mg1_sjf_response_s",
    "mg1_srpt_response_s",
    "mg1_wait_exceeds",
    "mg1_wait_quantile_s",
    "mginf_number_pmf",
    "mm1_mean_number_at",
    "mmc_mean_response_s",
    "mmc_mean_wait_s",
    "mmc_wait_exceeds",
    "mmc_wait_quantile_s",
    "response_run_length",
    "size_servers",
]
