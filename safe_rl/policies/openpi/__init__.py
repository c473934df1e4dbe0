"""The websocket protocol of openpi: policies that run in another process or environment.

The server speaks first and says what it serves; then every observation, a message of msgpack with
arrays, is answered by one with ``"actions"``. Needs the extra ``vla``.
"""

from safe_rl.policies.openpi.client import RemotePolicy
from safe_rl.policies.openpi.messages import pack, unpack
from safe_rl.policies.openpi.server import PolicyServer, Served, vla_served

__all__ = ["PolicyServer", "RemotePolicy", "Served", "pack", "unpack", "vla_served"]
