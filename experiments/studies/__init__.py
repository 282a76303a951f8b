"""Studies of our own, one package each, with the parts of a paper's package.

foresight: a policy that looks ahead, on held-out instances; queueing: formulas beside the simulator;
shares: Gavel's family against published results; reliability: large jobs on servers that fail; beyond: failures, spot VMs, tenants and other features of real clusters; cross: every policy on every
workload.
"""
