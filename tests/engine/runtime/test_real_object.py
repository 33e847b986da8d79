"""The session with the real dynamics and the shipped network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from engine.model.checkpoint import DEFAULT_CHECKPOINT, random_checkpoint, save_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from engine.runtime import messages as m
from engine.runtime.loading import load_object
from engine.runtime.pacing import STEP
from engine.runtime.session import Session
from engine.scenes.material import MATERIALS, Anchor


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    """A capsule as a file, with a sheet beside it as another."""
    trimesh.creation.capsule(height=1.2, radius=0.35, count=(12, 14)).export(tmp_path / "capsule.ply")
    return tmp_path / "capsule.ply"


def test_pull_record_and_play_back(mesh: Path) -> None:
    """The top of a standing capsule follows the hand, and the clip shows the same vertices as the engine."""
    session = Session(load_object, stopwatch=lambda: 0.0)
    events = session.handle(m.LoadMesh(mesh))
    assert isinstance(events[0], m.Loaded) and events[0].k_q > 0 and events[0].anchor is Anchor.STANDING
    stage = session.stage
    assert stage is not None
    rest = stage.loaded.rest
    face = int(rest.vertices[rest.faces].mean(axis=1)[:, 2].argmax())
    session.handle(m.Pause())
    session.handle(m.StartRecording())
    session.handle(m.GrabPoint(face, (0.4, 0.3, 0.3)))
    assert stage.hand is not None
    start = np.array(stage.hand.target)
    session.handle(m.DragTo((float(start[0]) + 0.15, float(start[1]), float(start[2]))))
    for _ in range(40):
        assert session.handle(m.StepOnce()) == []
    frame = session.advance(0.0)
    assert frame is not None and frame.grab is not None
    assert frame.grab.point[0] - start[0] > 0.05 and frame.grab.force_newtons[0] > 0.0
    assert not frame.vertices.flags.writeable and frame.step_ms >= 0.0
    (recorded,) = session.handle(m.StopRecording())
    clip = recorded.clip
    assert len(clip.times) == 41 and clip.duration == pytest.approx(40 * STEP)
    assert clip.vertices(40) == pytest.approx(frame.vertices, abs=1e-5)


def test_material_anchor_and_world_can_change_in_motion(mesh: Path) -> None:
    """Each setting is obeyed while the object moves, to rigid and back, and steps go on without divergence."""
    session = Session(load_object, stopwatch=lambda: 0.0)
    session.handle(m.LoadMesh(mesh, anchor=Anchor.FREE, material="jelly", height=0.1))
    session.handle(m.Pause())
    for command in (
        m.SetMaterial(MATERIALS["rigid"]),
        m.SetMaterial(MATERIALS["rubber"]),
        m.SetGravity(1.62),
        m.SetFloor(False),
        m.SetFloor(True),
        m.SetAnchor(Anchor.FIXED),
        m.SetAnchor(Anchor.FREE),
        m.PinPoint(0, (0.4, 0.3, 0.3)),
    ):
        events = session.handle(command)
        for _ in range(5):
            events += session.handle(m.StepOnce())
        assert not [e for e in events if not isinstance(e, m.PinsChanged)]
    assert session.stage is not None and session.stage.state.time == pytest.approx(40 * STEP)


def test_open_surface_is_a_shell(tmp_path: Path) -> None:
    """A solid's density on an open surface counts per area, of a shell, both at load and when changed."""
    sheet = trimesh.creation.capsule(height=1.0, radius=0.3, count=(8, 10))
    sheet.update_faces(sheet.triangles_center[:, 2] < sheet.triangles_center[:, 2].mean())
    sheet.export(tmp_path / "open.ply")
    session = Session(load_object)
    session.handle(m.LoadMesh(tmp_path / "open.ply", material="rubber"))
    assert session.stage is not None and session.stage.material.density == pytest.approx(11.0)
    session.handle(m.SetMaterial(MATERIALS["cloth"]))
    assert session.stage.material == MATERIALS["cloth"]


def test_bad_files_and_names_are_refused_in_words(tmp_path: Path) -> None:
    """No file, a file that is no mesh, and a material that does not exist are told with a reason."""
    session = Session(load_object)
    (tmp_path / "text.obj").write_text("no mesh\n")
    trimesh.creation.box().export(tmp_path / "box.ply")
    for command in (
        m.LoadMesh(tmp_path / "none.glb"),
        m.LoadMesh(tmp_path / "text.obj"),
        m.LoadMesh(tmp_path / "box.ply", material="wood"),
    ):
        (failed,) = session.handle(command)
        assert isinstance(failed, m.LoadFailed) and len(failed.reason) > 20
    assert "elastic" in failed.reason and session.stage is None


def test_another_network_moves_the_object(mesh: Path, tmp_path: Path) -> None:
    """A load may name its network; one that cannot be used is refused in words, and the object before it goes on."""
    session = Session(load_object, stopwatch=lambda: 0.0)
    (first, *_) = session.handle(m.LoadMesh(mesh))
    assert isinstance(first, m.Loaded) and first.checkpoint == DEFAULT_CHECKPOINT
    before = session.stage
    own = tmp_path / "own.safetensors"
    own.write_bytes(b"no network")
    (failed,) = session.handle(m.LoadMesh(mesh, checkpoint=own))
    assert isinstance(failed, m.LoadFailed) and "own.safetensors" in failed.reason
    assert session.stage is before
    control = random_checkpoint(ModelConfig())
    save_checkpoint(control.model, control.facts, own)
    (second, *_) = session.handle(m.LoadMesh(mesh, checkpoint=own))
    assert isinstance(second, m.Loaded) and second.checkpoint == own
    assert session.stage is not None and before is not None
    assert session.stage.loaded.fingerprint != before.loaded.fingerprint
