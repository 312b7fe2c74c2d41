"""Q-learning that takes a second."""

from __future__ import annotations

from misstep.training.qlearning.settings import QSettings


def small_settings() -> QSettings:
    return QSettings(
        hidden=(8,),
        steps=640,
        environments=4,
        horizon=20,
        replay=256,
        batch_size=16,
        warm_up=32,
        epsilon_steps=300,
        checkpoints=4,
        episodes=8,
    )
