"""Q-learning of small networks on JANI models: policies for safety tests, with all checkpoints kept."""

from misstep.training.qlearning.settings import QSettings

__all__ = ["QSettings"]
