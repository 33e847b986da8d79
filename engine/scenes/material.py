"""Materials in the words of everyday mechanics, and the ways an object can be held.

Stiffness is given as the frequency at which the object swings in its slowest elastic mode: that is what an eye sees,
and it stays meaningful for an object of any size and shape.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Anchor(StrEnum):
    """How an object is held: not at all, standing on its base, with its base fixed in space, or hung by its top."""

    FREE = "free"
    STANDING = "standing"
    FIXED = "fixed"
    HANGING = "hanging"


class Material(BaseModel):
    """What an object is made of.

    Attributes:
        name: as shown to the user; ``rigid`` ignores all reduced coordinates.
        density: of a solid [kg/m^3], of an open surface [kg/m^2].
        frequency: of the slowest elastic mode [Hz]; with dry friction, of the stiffest, which ends the joints' play.
        damping_ratio: of that mode, as a share of critical damping.
        dry_friction: resists internal motion such as that of joints, as an acceleration [m/s^2]; 0 for elastic objects.
        prior_weight: share of the stiffness that the network's prior gives, 0 to 1.
        floor_friction: Coulomb coefficient between object and floor.
        restitution: share of the speed that an impact gives back, 0 to 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    density: float = Field(gt=0.0, allow_inf_nan=False)
    frequency: float = Field(gt=0.0, le=200.0)
    damping_ratio: float = Field(ge=0.0, le=10.0)
    dry_friction: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    prior_weight: float = Field(default=0.1, ge=0.0, le=1.0)
    floor_friction: float = Field(default=0.6, ge=0.0, le=10.0)
    restitution: float = Field(default=0.0, ge=0.0, le=1.0)


_PRESETS = (
    Material(name="elastic", density=150.0, frequency=3.0, damping_ratio=0.12),
    Material(name="jelly", density=1000.0, frequency=2.5, damping_ratio=0.05, floor_friction=0.4),
    Material(name="rubber", density=1100.0, frequency=6.0, damping_ratio=0.1, floor_friction=0.9),
    Material(name="cloth", density=0.3, frequency=0.8, damping_ratio=0.1, floor_friction=0.5),
    Material(name="articulated", density=400.0, frequency=8.0, damping_ratio=0.3, dry_friction=8.0, prior_weight=0.1),
    Material(name="rigid", density=500.0, frequency=12.0, damping_ratio=0.3, prior_weight=0.0),
)

MATERIALS: dict[str, Material] = {material.name: material for material in _PRESETS}
"""The presets by name; an object that nothing is known of starts with one that `material_guess` finds."""
