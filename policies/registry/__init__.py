"""Names of policies: how a policy gets one, what it requires, and how one is made from its name and options."""
