"""Agents of Stable-Baselines3 and sb3-contrib, read without installing either package."""

from misstep.policies.sb3.agent import Agent, read_agent
from misstep.policies.sb3.policy import Sb3Policy, load

__all__ = ["Agent", "Sb3Policy", "load", "read_agent"]
