"""Teleoperation: leader devices, recorded and gated as generated attempts are."""

from safe_rl.demonstrations.teleoperation.leader import (
    JointCommand,
    Leader,
    PoseCommand,
    Retargeting,
)
from safe_rl.demonstrations.teleoperation.session import teleoperate

__all__ = ["JointCommand", "Leader", "PoseCommand", "Retargeting", "teleoperate"]
