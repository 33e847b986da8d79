"""A scene: one mesh, what it is made of, how it is held, the world around it, and what acts on it when."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.scenes.conditions import Condition
from engine.scenes.material import Anchor, Material

SCENE_VERSION = 0


class SceneError(ValueError):
    """A scene file that cannot be used; the message says what is wrong and what to do."""


class Scene(BaseModel):
    """Everything needed to run one object.

    Attributes:
        version: of the format.
        mesh: path of the mesh, relative to the scene file.
        material, anchor: None leaves the choice to the object.
        gravity: along -Z [m/s^2].
        floor: whether there is a floor at z = 0.
        conditions: what acts on the object, in any order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(default=SCENE_VERSION, ge=0)
    mesh: str = Field(min_length=1)
    material: Material | None = None
    anchor: Anchor | None = None
    gravity: float = Field(default=9.81, allow_inf_nan=False)
    floor: bool = True
    conditions: tuple[Condition, ...] = ()


def read_scene(path: Path) -> Scene:
    """Read a scene file (JSON).

    Raises:
        SceneError: unreadable, not a scene, or of a newer version than this program knows.
    """
    try:
        scene = Scene.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise SceneError(f"{path.name} cannot be read: {problem.strerror or problem}.") from problem
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SceneError(f"{path.name} is not a scene: {place}: {first['msg']}.") from problem
    if scene.version > SCENE_VERSION:
        raise SceneError(
            f"{path.name} has scene version {scene.version}; this program reads up to {SCENE_VERSION}. "
            "Update the program."
        )
    return scene


def write_scene(scene: Scene, path: Path) -> None:
    """Write a scene file (JSON, readable by people)."""
    path.write_text(scene.model_dump_json(indent=2) + "\n", encoding="utf-8")
