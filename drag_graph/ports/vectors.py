"""The type of vectors."""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
