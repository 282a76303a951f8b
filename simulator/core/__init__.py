"""The long-lived SimPy processes: arrivals, dispatcher, controllers, nodes, optimization server."""
