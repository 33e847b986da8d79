"""The walk of one frame, from the press of a button to the recorder, without thread, clock or window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from app.picking import pick_surface
from app.render.cameras import OrbitCamera
from engine.runtime import messages as m
from engine.runtime.loading import load_object
from engine.runtime.mailbox import Mailbox
from engine.runtime.pacing import STEP
from engine.runtime.session import Session


def test_walk_of_a_frame(tmp_path: Path) -> None:
    """A press becomes a pull, the pull moves the touched point toward the pointer, and the recorder keeps each step."""
    path = tmp_path / "capsule.ply"
    trimesh.creation.capsule(height=1.0, radius=0.3, count=(14, 16)).export(path)
    wakes: list[int] = []
    mailbox = Mailbox(lambda: wakes.append(1))
    session = Session(load_object, stopwatch=lambda: 0.0)
    now = 0.0

    def engine_turn() -> None:
        """What the engine's thread does between two waits."""
        while (command := mailbox.next_command()) is not None:
            mailbox.publish(session.handle(command))
        frame = session.advance(now)
        mailbox.publish(session.take_events(), frame)

    mailbox.post(m.LoadMesh(path))
    engine_turn()
    events, frame = mailbox.take()
    loaded = next(event for event in events if isinstance(event, m.Loaded))
    assert frame is not None
    assert frame.generation == loaded.generation

    # Press: the pixel of the upper part, the picker on the newest frame, and the hand's plane.
    camera = OrbitCamera()
    camera.frame(frame.vertices.min(0), frame.vertices.max(0), 4 / 3)
    view = camera.view(800, 600)
    above = np.array((*frame.vertices[:, :2].mean(0), 0.85 * frame.vertices[:, 2].max()))
    x, y = view.project(above)
    hit = pick_surface(frame.vertices, np.asarray(loaded.rest.faces), *view.ray(x, y))
    assert hit is not None
    mailbox.post(m.StartRecording())
    mailbox.post(m.GrabPoint(hit.face, hit.barycentric))
    aim = view.on_parallel_plane(x + 60.0, y - 10.0, hit.position)
    for share in (0.3, 0.7, 1.0):
        target = hit.position + share * (aim - hit.position)
        mailbox.post(m.DragTo(tuple(target.tolist())))

    # Half a second, in which the window never comes to look: one wake-up, the newest frame, all steps recorded.
    wakes.clear()
    before = session.stage.state.time if session.stage is not None else 0.0
    for _ in range(30):
        now += STEP
        engine_turn()
    assert len(wakes) == 1
    events, frame = mailbox.take()
    assert frame is not None
    assert frame.recording
    assert not frame.vertices.flags.writeable
    assert frame.grab is not None
    assert np.allclose(frame.grab.target, aim)
    assert np.linalg.norm(frame.grab.force_newtons) > 0.0
    touched = np.asarray(hit.barycentric) @ frame.vertices[np.asarray(loaded.rest.faces)[hit.face]]
    assert np.allclose(frame.grab.point, touched, atol=1e-5)
    assert np.linalg.norm(touched - aim) < 0.8 * np.linalg.norm(hit.position - aim)

    mailbox.post(m.Release())
    mailbox.post(m.Pause())
    mailbox.post(m.StopRecording())
    engine_turn()
    events, last = mailbox.take()
    (recorded,) = [event for event in events if isinstance(event, m.Recorded)]
    steps = round((frame.time - before) / STEP)
    assert steps == 30
    assert len(recorded.clip.times) == steps + 1
    assert np.abs(recorded.clip.at(frame.time) - frame.vertices).max() < 1e-5
    assert recorded.clip.inputs.face[1] == hit.face
    assert last is not None
    assert last.grab is None
    assert not last.running
