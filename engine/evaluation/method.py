"""What is compared: a way to give an object coordinates, made ready for one object after another.

The network and every baseline are measured by the same programs through these two protocols. A method is prepared on
the rest shape alone; one that looks at the true states says so (`sees_states`) and is printed as an upper bound.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float64

from engine.evaluation.objects import EvaluationObject


@runtime_checkable
class PreparedMethod(Protocol):
    """One object as a method moves it. At ``q = 0`` it should be at rest.

    It is an `engine.kinematics.inverse_kinematics.Posable`: its points are the object's ``samples``. A coordinate's
    unit should be about the motion of 3 % of size, so that one ridge and one spread of restarts suit every method.
    """

    @property
    def freedoms(self) -> int:
        """Number r of coordinates."""
        ...

    def pose(self, q: Float64[np.ndarray, " r"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p r 3"]]:
        """Return the object's ``samples`` at ``q``, unit frame, and their derivatives along each coordinate."""
        ...

    def vertices(self, q: Float64[np.ndarray, " r"]) -> Float64[np.ndarray, "n 3"]:
        """Return all vertices of the rest shape at ``q``, unit frame."""
        ...

    @property
    def weights(self) -> Float[np.ndarray, "n t"] | None:
        """Weights that blend the motions of t handles at every vertex, rows summing to one; None without such."""
        ...


@runtime_checkable
class Method(Protocol):
    """A method with its settings and, where it is learned, its weights."""

    @property
    def name(self) -> str:
        """Name in the tables, e.g. "eigenmodes"."""
        ...

    @property
    def sees_states(self) -> bool:
        """Whether preparing looks at the true states: an upper bound, not a competitor."""
        ...

    def prepare(self, item: EvaluationObject) -> PreparedMethod:
        """Make an object ready; only ``sees_states`` methods may read ``item.states`` but for its rest shape."""
        ...
