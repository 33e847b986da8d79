"""Objects, methods and whole evaluations on a hinge whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import trimesh
from jaxtyping import Float64
from scipy.spatial.transform import Rotation

from engine.datasets.sampling import SampledMotion, sample_states
from engine.datasets.shards import DatasetError, write_shard
from engine.evaluation.document import Document, DocumentError, data_facts, read_document
from engine.evaluation.inverse import InverseSettings, chamfer_floor, pose_to_states
from engine.evaluation.network import NetworkMethod
from engine.evaluation.objects import EvaluationObject, evaluation_object, unwelded_shape
from engine.evaluation.programs import evaluate_inverse, evaluate_reconstruction, evaluate_samples
from engine.evaluation.reconstruction import reconstruct, state_batch
from engine.evaluation.report import markdown, tables_of
from engine.evaluation.selection import Selection, as_dataset, chosen_objects
from engine.kinematics.reduction import ReductionKind
from engine.model.checkpoint import Checkpoint, random_checkpoint
from engine.model.variational_autoencoder import ModelConfig
from tests.engine.datasets.moving import hinge_motion, rigid_motion

TINY = ModelConfig(width=32, heads=2, handles=6, latent=8)
# Half precision rounds the unit frame by up to this.
ROUNDING = 2.5e-4


def sampled(motion: str = "hinge", *, key: str = "hinge", split: str = "test_seen") -> SampledMotion:
    """Return a moving object of a test split: a tumbling hinge, or a box that moves as a whole."""
    moving = hinge_motion(tumbling=True) if motion == "hinge" else rigid_motion()
    rng = np.random.default_rng(0)
    return sample_states(moving, rng, key=key, name=key, split=split, all_meshes=split != "train")


@pytest.fixture(scope="module")
def hinge() -> SampledMotion:
    """The tumbling hinge."""
    return sampled()


@pytest.fixture(scope="module")
def untrained() -> Checkpoint:
    """A small network with random weights."""
    return random_checkpoint(TINY)


@dataclass(frozen=True)
class TrueHinge:
    """A method that knows the hinge: one coordinate, its angle in units of 0.06 rad."""

    name: str = "true hinge"
    sees_states: bool = False

    def prepare(self, item: EvaluationObject) -> PreparedHinge:
        """Find the hinge's axis in the unit frame of the object."""
        return PreparedHinge(item)


class PreparedHinge:
    """The hinge opened by ``0.06 q``."""

    freedoms, weights = 1, None

    def __init__(self, item: EvaluationObject) -> None:
        whole = hinge_motion().positions[0].astype(np.float64)
        low, high = whole.min(0), whole.max(0)
        self._axis = (np.array([0.0, 0.5, 0.1]) - 0.5 * (low + high)) * 2.0 / (high - low).max()
        self._item = item
        self._moves = item.vertex_part == 1
        self._moving = self._moves[item.faces[item.samples.face, 0]]

    def vertices(self, q: Float64[np.ndarray, "1"]) -> Float64[np.ndarray, "n 3"]:
        """Return the vertices of the opened hinge."""
        return self._opened(self._item.vertices, self._moves, q)

    def pose(self, q: Float64[np.ndarray, "1"]) -> tuple[Float64[np.ndarray, "p 3"], Float64[np.ndarray, "p 1 3"]]:
        """Return the samples of the opened hinge and their velocity."""
        placed = self._opened(self._item.at(self._item.samples, self._item.vertices), self._moving, q)
        speed = np.cross([-0.06, 0, 0], placed - self._axis) * self._moving[:, None]
        return placed, speed[:, None]

    def _opened(self, points: np.ndarray, moves: np.ndarray, q: np.ndarray) -> Float64[np.ndarray, "k 3"]:
        turn = Rotation.from_rotvec([-0.06 * float(q[0]), 0, 0])
        return np.where(moves[:, None], turn.apply(points - self._axis) + self._axis, points)


def test_an_object_is_brought_to_the_unit_frame_with_its_true_parts(hinge: SampledMotion) -> None:
    """Longest half extent one, states without their tumbling, both parts found vertex by vertex."""
    item = evaluation_object(hinge)
    assert np.abs(item.vertices).max() == pytest.approx(1.0, abs=ROUNDING)
    assert np.array_equal(item.vertex_part, np.repeat([0, 1], len(item.vertices) // 2))
    assert (item.parts, item.closed, int(item.component.max())) == (2, True, 1)
    # The tumbling is taken off: one rigid motion more changes nothing.
    still = evaluation_object(sampled("box", key="box"))
    assert np.abs(still.states - still.vertices).max() < 4 * ROUNDING


def test_another_state_can_be_the_rest_shape(hinge: SampledMotion) -> None:
    """The open hinge as the rest shape is in its own unit frame, and the closed one is among its states."""
    item = evaluation_object(hinge, rest_state=4)
    assert np.abs(item.vertices).max() == pytest.approx(1.0, abs=1e-9)
    assert item.others == [0, 1, 2, 3, 5]
    assert np.array_equal(item.states[4], item.vertices)


def test_pieces_that_touch_stay_apart() -> None:
    """Two boxes face to face share four corners in space and none in the shape; a reader would weld them."""
    boxes = [trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 1, 1))]
    vertices = np.concatenate([boxes[0].vertices, boxes[1].vertices + np.array([1.0, 0, 0])])
    faces = np.concatenate([boxes[0].faces, boxes[1].faces + 8])
    shape = unwelded_shape(vertices, faces, name="boxes")
    assert (len(shape.vertices), shape.report.components, shape.solid) == (16, 2, True)


def test_a_split_without_meshes_is_refused() -> None:
    """Training objects keep the rest mesh alone, and the message says where to look instead."""
    with pytest.raises(ValueError, match="other than train"):
        evaluation_object(sampled(split="train"))


def test_a_method_that_knows_the_truth_makes_no_error_but_rounding(hinge: SampledMotion) -> None:
    """The hinge is posed to its own states: no error, no gap in volume, rigid parts, Chamfer at the floor."""
    item = evaluation_object(hinge)
    found = pose_to_states(TrueHinge(), item, item.others, InverseSettings(restarts=0))
    error, motion = found.ratios["error"]
    assert np.sqrt(error / motion) < 2e-3
    assert found.means["iou"] > 0.98
    assert found.means["rigid_departure"] < 1e-9
    assert found.means["stretch_95"] == pytest.approx(1.0, abs=0.01)
    assert found.means["chamfer"] < 5 * chamfer_floor(item, 1, seed=0)
    assert found.means["chamfer"] < ROUNDING


def test_the_posterior_reads_states_without_their_rigid_motion(hinge: SampledMotion) -> None:
    """A rigid body's states are its rest shape, turned by nothing; a hinge's rotations carry its parts."""
    still = state_batch(sampled("box", key="box"), 0, [1, 3], np.random.default_rng(0), TINY)
    assert float((still.deformed - still.points).abs().max()) < 4 * ROUNDING
    assert float(still.rotation[..., 0].min()) > 1 - 1e-4
    batch = state_batch(hinge, 0, [3], np.random.default_rng(0), TINY)
    part = batch.part[0].numpy()
    for label in (0, 1):
        mine = np.flatnonzero(part == label)
        turn = Rotation.from_quat(batch.rotation[0, mine[0]].double().numpy(), scalar_first=True)
        rest, moved = batch.points[0, mine].double().numpy(), batch.deformed[0, mine].double().numpy()
        assert np.abs(turn.apply(rest - rest[0]) - (moved - moved[0])).max() < 0.01


def test_reconstruction_counts_motion_alone(hinge: SampledMotion, untrained: Checkpoint) -> None:
    """The reference of the error is the motion left by the best rigid fit, and all figures are numbers."""
    found = reconstruct(untrained, hinge, 0, [2, 4])
    batch = state_batch(hinge, 0, [2, 4], np.random.default_rng(0), TINY)
    motion = float((batch.deformed - batch.points).square().sum(-1).mean())
    assert found.ratios["error"][1] == pytest.approx(motion, rel=1e-5)
    assert all(np.isfinite(value) for value in found.means.values())


def test_a_canonical_network_reads_a_turned_frame(hinge: SampledMotion) -> None:
    """At canonical yaw distances are those of the unit frame, up to one scale."""
    plain = state_batch(hinge, 0, [3], np.random.default_rng(0), TINY)
    config = ModelConfig(width=32, heads=2, handles=6, latent=8, canonical=True)
    turned = state_batch(hinge, 0, [3], np.random.default_rng(0), config)
    ratio = (turned.deformed - turned.points).norm(dim=-1) / (plain.deformed - plain.points).norm(dim=-1)
    assert float(ratio.max() / ratio.min()) == pytest.approx(1.0, abs=1e-3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset of two hinges and a box in the split of unseen objects."""
    motions = [sampled(key="hinge-0"), sampled(key="hinge-1"), sampled("box", key="box-0")]
    write_shard(motions, tmp_path / "data" / "test_seen" / "a.tar")
    write_shard([sampled(key="hinge-2", split="train")], tmp_path / "data" / "train" / "a.tar")
    return tmp_path / "data"


def test_the_choice_of_objects_is_seeded_and_does_not_move(folder: Path) -> None:
    """One object of a kind: the same for one seed, and still there when more may be chosen."""
    one = [m.record.key for m in chosen_objects(folder, Selection(objects=1))]
    assert len(one) == 2
    assert one == [m.record.key for m in chosen_objects(folder, Selection(objects=1))]
    assert set(one) <= {m.record.key for m in chosen_objects(folder, Selection(objects=2))}
    with pytest.raises(DatasetError, match="no object of cloth"):
        chosen_objects(folder, Selection(kinds=("cloth",)))
    with pytest.raises(DatasetError, match="rest shape alone"):
        chosen_objects(folder, Selection(split="train"))


def test_an_evaluation_is_written_and_read_back(folder: Path, tmp_path: Path, untrained: Checkpoint) -> None:
    """All three evaluations of an untrained network: figures, intervals and circumstances survive the file."""
    selection = Selection(states=2)
    motions = chosen_objects(folder, selection)
    results = [
        evaluate_reconstruction(untrained, motions, selection),
        *evaluate_inverse([NetworkMethod(untrained), TrueHinge()], motions[:2], selection, InverseSettings(restarts=0)),
        evaluate_samples(untrained, motions, selection),
    ]
    document = Document(["evaluate", "all"], 0, data_facts(folder, motions, selection), {}, results)
    document.write(tmp_path / "out.json")
    read = read_document(tmp_path / "out.json")
    assert [table.rows for table in tables_of(read)] == [table.rows for table in tables_of(document)]
    assert read.data["objects"] == {"articulated": 2, "rigid": 1}
    text = markdown([read])
    assert "Inverse kinematics from points" in text
    assert "articulated/hinge" in text
    assert "Chamfer over best rival's" in text
    (tmp_path / "junk.json").write_text("{}")
    with pytest.raises(DocumentError, match="no evaluation"):
        read_document(tmp_path / "junk.json")


def test_every_reduction_is_a_method(hinge: SampledMotion, untrained: Checkpoint) -> None:
    """No reduction keeps all directions, and every method's tangents are those of its points."""
    item = evaluation_object(hinge)
    for kind in ReductionKind:
        prepared = NetworkMethod(untrained, kind).prepare(item)
        assert prepared.freedoms == TINY.latent if kind is ReductionKind.NONE else prepared.freedoms <= TINY.latent
        q = 0.3 * np.ones(prepared.freedoms)
        points, tangents = prepared.pose(q)
        assert points == pytest.approx(item.at(item.samples, prepared.vertices(q)), abs=0.05)
        assert tangents.shape == (len(item.samples.face), prepared.freedoms, 3)


def test_files_that_hold_no_motion_are_refused_with_reasons(tmp_path: Path) -> None:
    """A still mesh is named with the reason why it cannot be measured."""
    trimesh.creation.box().export(tmp_path / "still.obj")
    with pytest.raises(DatasetError, match=r"still\.obj"), as_dataset([tmp_path / "still.obj"], seed=0):
        pass
