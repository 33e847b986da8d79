"""The extra folder: what is taken from it, of whom, and what never is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from engine.datasets.imported.collection import CONTRIBUTIONS, collected, contributed_motions
from tests.engine.datasets.moving import DATA


def test_never_trained_files_are_not_collected(tmp_path: Path) -> None:
    """A model that carries the name of a test scan stays out, whatever folder it lies in."""
    folder = tmp_path / "cc0_animated"
    folder.mkdir()
    for name in ("spot", "ycb_Mug", "pack__Cow"):
        (folder / f"{name}.glb").write_bytes(b"")
    assert list(collected(tmp_path)) == ["pack__Cow"]


def test_every_contribution_names_its_maker_and_licence() -> None:
    """Credit and a permissive licence stand beside each pattern."""
    for contribution in CONTRIBUTIONS:
        assert contribution.source.credit
        assert contribution.source.licence in {"CC0-1.0", "MIT", "Apache-2.0", "CC-BY-4.0"}


def test_a_sequence_of_the_folder_is_yielded_with_its_source(tmp_path: Path) -> None:
    """A vertex sequence under a known name comes with its credit."""
    ball = trimesh.creation.icosphere(subdivisions=2)
    frames = np.stack([ball.vertices * [1 + 0.1 * i, 1, 1] for i in range(6)]).astype(np.float32)
    np.savez(tmp_path / "diffcloth_tshirt_iter0.npz", vertices=frames, faces=ball.faces)
    ((path, contribution),) = collected(tmp_path).values()
    (motion,) = contributed_motions(path, contribution, frames=8, rng=np.random.default_rng(0))
    assert motion.source.licence == "MIT"
    assert motion.kind == "imported"


@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of models and motions of others is not here")
def test_loosened_frames_turn_joints_that_clips_keep() -> None:
    """A model's frames with joints turned at random follow those of its clips, on the same mesh."""
    path, contribution = collected(DATA)["animals__Husky"]
    (loose,) = contributed_motions(path, contribution, frames=12, rng=np.random.default_rng(0))
    assert contribution.loosened
    assert len(loose.positions) == 23
    assert np.isfinite(loose.positions).all()
    np.testing.assert_allclose(np.linalg.norm(loose.rotations, axis=-1), 1.0, atol=1e-5)
