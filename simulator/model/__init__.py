"""The model: machines, jobs, how long a job takes, and the contract of policies."""
