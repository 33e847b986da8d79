"""Things of the world that an object can touch: planes and spheres that stand still, in world axes and metres."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
Triple = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class Plane(BaseModel):
    """A half-space: all that lies behind a plane is solid.

    Attributes:
        point: a point of the plane [m].
        normal: out of the solid side, of any length but zero.
        friction: Coulomb coefficient; None: the object's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["plane"] = "plane"
    point: Triple = (0.0, 0.0, 0.0)
    normal: Triple = (0.0, 0.0, 1.0)
    friction: float | None = Field(default=None, ge=0.0, le=10.0)

    @model_validator(mode="after")
    def _faces_somewhere(self) -> Plane:
        if not any(self.normal):
            raise ValueError("a plane needs a normal; (0, 0, 0) is none")
        return self


class Sphere(BaseModel):
    """A solid ball.

    Attributes:
        centre: of the ball [m].
        radius: of the ball [m]; one that is smaller than the object's triangles can slip between their corners.
        friction: Coulomb coefficient; None: the object's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["sphere"] = "sphere"
    centre: Triple
    radius: float = Field(gt=0.0, allow_inf_nan=False)
    friction: float | None = Field(default=None, ge=0.0, le=10.0)


Collider = Annotated[Plane | Sphere, Field(discriminator="kind")]

FLOOR = Plane()
"""The ground at z = 0."""
