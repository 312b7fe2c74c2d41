"""Networks over plain vectors: fully connected ones, tree ensembles, ONNX; native where possible."""

from misstep.policies.networks.load import load_network
from misstep.policies.networks.network import Network, choose, margins

__all__ = [
    "Network",
    "choose",
    "load_network",
    "margins",
]
