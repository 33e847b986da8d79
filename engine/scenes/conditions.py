"""What acts on an object at which time: forces, pulls and pins, as a scene file states them.

Points, axes and distances are those of the mesh FILE, so that a scene can be written beside the mesh by hand. Each acts
where the surface is nearest to its point, and follows that place of the surface.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
Triple = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class _Timed(BaseModel):
    """What all conditions have in common.

    Attributes:
        point: place on the rest surface, file frame and units.
        start, end: the condition acts while ``start <= t < end`` [s]; no end means for ever.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    point: Triple
    start: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    end: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _ends_after_start(self) -> _Timed:
        if self.end is not None and not self.end > self.start:
            raise ValueError(f"a condition must end after its start; start is {self.start} s, end is {self.end} s")
        return self

    def active(self, time: float) -> bool:
        """Return whether the condition acts at a time [s]."""
        return self.start <= time and (self.end is None or time < self.end)


class TimedForce(_Timed):
    """A constant force on a point of the surface.

    Attributes:
        direction: along the file's axes, of any length but zero.
        newtons: strength [N].
    """

    kind: Literal["force"] = "force"
    direction: Triple
    newtons: float = Field(allow_inf_nan=False)

    @model_validator(mode="after")
    def _points_somewhere(self) -> TimedForce:
        if not any(self.direction):
            raise ValueError("a force needs a direction; (0, 0, 0) is none")
        return self


class TimedPull(_Timed):
    """A hand that takes hold of a point at ``start``, moves evenly by ``offset`` until ``end``, and lets go.

    Attributes:
        offset: how far the hand moves, file axes and units.
    """

    kind: Literal["pull"] = "pull"
    offset: Triple

    @model_validator(mode="after")
    def _lets_go(self) -> TimedPull:
        if self.end is None:
            raise ValueError("a pull needs an end: the hand reaches its offset then")
        return self


class TimedPin(_Timed):
    """A point of the surface held where it is at ``start``."""

    kind: Literal["pin"] = "pin"


Condition = Annotated[TimedForce | TimedPull | TimedPin, Field(discriminator="kind")]
