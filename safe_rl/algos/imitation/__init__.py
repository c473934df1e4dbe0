"""Learning from demonstrations that the monitors have graded.

Needs the extra ``vla``. docs/imitation.md shows how it is used.
"""

from safe_rl.algos.imitation.demonstrations import Demonstrations
from safe_rl.algos.imitation.settings import METHODS, ImitationSettings
from safe_rl.algos.imitation.trainer import imitate
from safe_rl.algos.imitation.windows import KEEPS, Windows, kept, windows_of

__all__ = [
    "KEEPS",
    "METHODS",
    "Demonstrations",
    "ImitationSettings",
    "Windows",
    "imitate",
    "kept",
    "windows_of",
]
