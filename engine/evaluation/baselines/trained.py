"""Trained baselines as methods to be measured, and the list of all baselines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.datasets.pairs import COMPONENT_SLOTS, Sampling
from engine.evaluation.baselines.network import BaselineNetwork
from engine.evaluation.baselines.training import TRAINED, load_baseline
from engine.evaluation.baselines.untrained import Eigenmodes, PrincipalComponents, RestPose
from engine.evaluation.method import Method, PreparedMethod
from engine.evaluation.objects import EvaluationObject
from engine.geometry.surface import face_normals_and_areas, sample_surface


@dataclass(frozen=True, slots=True)
class TrainedBaseline:
    """A trained network as a method.

    Attributes:
        name: name in the tables.
        network: the network.
        facts: what is known of its training, see `engine.evaluation.baselines.training`.
        seed: of the surface samples that the network looks at, as many as in training.
    """

    name: str
    network: BaselineNetwork
    facts: dict[str, Any]
    seed: int = 0
    sees_states: bool = False

    def prepare(self, item: EvaluationObject) -> PreparedMethod:
        """Make an object ready from its rest shape."""
        normals, areas = face_normals_and_areas(item.vertices, item.faces)
        looked = sample_surface(areas, Sampling().point_count, np.random.default_rng(self.seed))
        return self.network.ready(
            item.at(looked, item.vertices),
            normals[looked.face],
            item.component[item.faces[looked.face, 0]] % COMPONENT_SLOTS,
            item.at(item.samples, item.vertices),
            item.vertices,
        )


def load_trained(path: Path) -> TrainedBaseline:
    """Read a trained baseline.

    Raises:
        CheckpointError: the file is missing, or holds no baseline.
    """
    network, facts = load_baseline(path)
    return TrainedBaseline(str(facts["name"]), network, facts)


def baseline_methods(folder: Path) -> list[Method]:
    """Return all baselines: those without training, and the trained ones whose files lie in a folder.

    Each trained baseline is kept as ``NAME.safetensors``; one that is not there is left out.
    """
    methods: list[Method] = [RestPose(), Eigenmodes(), PrincipalComponents()]
    methods += [load_trained(path) for name in TRAINED if (path := folder / f"{name}.safetensors").is_file()]
    return methods
