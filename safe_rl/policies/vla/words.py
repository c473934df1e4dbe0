"""From a prompt to numbers: words and signs, hashed to a vocabulary of fixed size."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[a-z0-9_]+|[^\sa-z0-9_]")
PADDING = 0


def word_numbers(prompts: Sequence[str], words: int, vocabulary: int) -> NDArray[np.int64]:
    """Return the number of each word of each prompt, int64 ``[B, words]``.

    A word is a run of letters, digits and underscores, in any case, or one sign, so that formulas
    are read too. Its number is its CRC-32 within ``1 ... vocabulary - 1``: nothing has to be
    stored, and a new word is no error. What is missing is padded with 0, what is too long cut off.

    >>> word_numbers(["Lift the cup", "lift"], 4, 1024)
    array([[142, 775, 949,   0],
           [142,   0,   0,   0]])
    """
    numbers = np.full((len(prompts), words), PADDING, np.int64)
    for row, prompt in enumerate(prompts):
        for column, word in enumerate(_WORD.findall(prompt.lower())[:words]):
            numbers[row, column] = 1 + zlib.crc32(word.encode()) % (vocabulary - 1)
    return numbers
