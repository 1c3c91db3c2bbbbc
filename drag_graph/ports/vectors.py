"""The types of vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Vector = Sequence[float] | Vectors
