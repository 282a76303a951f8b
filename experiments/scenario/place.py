"""Racks and the network between nodes, in a scenario file: [network], network_penalty.

network_penalty = 1.3           # all jobs, over any nodes; or:

[network]
nodes_per_rack = 4
same_rack = 1.1
across_racks = 1.4
of_model = { vgg16 = 1.47 }     # or "published"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from experiments.config import Config, KeyedError, at_key

if TYPE_CHECKING:
    from simulator import Cluster, Workload
    from simulator.features.network import Network

Factor = Annotated[float, Field(ge=1, le=1e6)]


class NetworkKeys(Config):
    """Racks of neighbours, and how many times longer jobs take over nodes and racks."""

    nodes_per_rack: Annotated[int, Field(ge=1)] | None = None
    same_rack: Factor = 1.0
    across_racks: Factor | None = None
    of_model: Literal["published"] | dict[str, Factor] = Field(default_factory=dict)


class HasNetwork(Protocol):
    """A scenario, as far as it concerns this module."""

    network: NetworkKeys | None
    network_penalty: float | None


def make_network(scenario: Any, workload: Workload, cluster: Cluster) -> Network | None:
    """Racks and factors; None where nothing is given. Raises KeyedError naming table and key."""
    from simulator.features.network import network_of, published_factors

    given: HasNetwork = scenario
    keys = given.network
    if keys is None and given.network_penalty is None:
        return None
    if cluster.is_pool:
        key = "network_penalty" if keys is None else "network"
        raise KeyedError(key, "given with a rental pool, expected nodes")
    if keys is None:
        assert given.network_penalty is not None
        return network_of(workload, cluster.num_nodes, same_rack=given.network_penalty)
    if given.network_penalty is not None:
        raise KeyedError("network_penalty", "given with a table [network], expected one of them")
    if keys.across_racks is not None and keys.nodes_per_rack is None:
        raise KeyedError("network.nodes_per_rack", "missing, expected beside across_racks")
    own = published_factors() if keys.of_model == "published" else keys.of_model
    with at_key("network"):
        return network_of(
            workload, cluster.num_nodes, keys.nodes_per_rack, keys.same_rack, keys.across_racks, own
        )
