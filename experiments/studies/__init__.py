"""Studies of our own, one package each, with the parts of a paper's package.

foresight: a policy that looks ahead, on held-out instances; queueing: formulas beside the simulator;
reliability: large jobs on servers that fail; clusters: what failures, spot VMs, tenants, predictions and delays do.
"""
