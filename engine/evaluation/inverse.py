"""Inverse kinematics as a measure of a method: how near its coordinates bring an object to its own true states.

The target is a true state's surface samples, of known correspondence, as in Table 1 of NeuROK (arXiv:2605.30347), whose
budget and normalisation are not published; here every method gets Gauss-Newton from rest and two seeded restarts
(`engine.kinematics.inverse_kinematics`). Errors are measured on other samples than those that were fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.spatial.transform import Rotation

from engine.evaluation.method import Method, PreparedMethod
from engine.evaluation.metrics import buried, mean_square, rigid_departure, stretch, weight_spikes
from engine.evaluation.objects import EvaluationObject
from engine.evaluation.occupancy import volume_iou
from engine.evaluation.statistics import ObjectFigures
from engine.evaluation.surface_distance import TriangleSurface, chamfer
from engine.geometry.welding import edges_of
from engine.kinematics.inverse_kinematics import fit_points


@dataclass(frozen=True, slots=True)
class InverseSettings:
    """How inverse kinematics is asked.

    Attributes:
        restarts: descents from random coordinates after the one from rest.
        surfaces: whether Chamfer, volume overlap and burial are measured too, which take most of the time.
        seed: of restarts and samples.
    """

    restarts: int = 2
    surfaces: bool = True
    seed: int = 0


def pose_to_states(
    method: Method, item: EvaluationObject, states: list[int], settings: InverseSettings
) -> ObjectFigures:
    """Pose one object to some of its true states, and return how near it came."""
    prepared = method.prepare(item)
    figures = ObjectFigures(item.record.key, item.record.family)
    size = item.shape.size
    edges = edges_of(item.faces)
    errors, motions, rigid, rigid_count = [], [], 0.0, 0
    rows: list[dict[str, float]] = []
    rest = item.at(item.probes, item.vertices)
    for state in states:
        truth = item.states[state]
        decoded = posed_vertices(prepared, item, truth, settings)
        probes = item.at(item.probes, truth)
        errors.append(mean_square(item.at(item.probes, decoded), probes))
        motions.append(mean_square(rest, probes))
        departure, count = rigid_departure(item.vertices, decoded, item.vertex_part)
        rigid, rigid_count = rigid + departure, rigid_count + count
        high, most = stretch(item.vertices, decoded, truth, edges)
        row = {"stretch_95": high, "stretch_max": most}
        if settings.surfaces:
            row |= surface_figures(item, decoded, truth, seed=settings.seed)
        rows.append(row)
    figures.ratios["error"] = (float(np.mean(errors)), float(np.mean(motions)))
    figures.means["error_of_size"] = float(np.sqrt(np.mean(errors))) / size
    figures.means["coordinates"] = float(prepared.freedoms)
    if rigid_count:
        figures.means["rigid_departure"] = float(np.sqrt(rigid / rigid_count)) / size
    if prepared.weights is not None:
        part = item.vertex_part if item.parts else item.component
        figures.means["spikes"] = weight_spikes(prepared.weights, edges, part)
    for name in rows[0]:
        figures.means[name] = float(np.mean([row[name] for row in rows]))
    return figures


def posed_vertices(
    prepared: PreparedMethod, item: EvaluationObject, truth: Float64[np.ndarray, "n 3"], settings: InverseSettings
) -> Float64[np.ndarray, "n 3"]:
    """Return all vertices where the coordinates that fit best bring them, in the frame of the target."""
    targets = item.at(item.samples, truth)
    fit = fit_points(prepared, targets, restarts=settings.restarts, seed=settings.seed)
    return fit.place(prepared.vertices(fit.q))


def surface_figures(
    item: EvaluationObject,
    decoded: Float64[np.ndarray, "n 3"],
    truth: Float64[np.ndarray, "n 3"],
    *,
    seed: int,
) -> dict[str, float]:
    """Return Chamfer with its sampling error, volume overlap of a closed mesh, and burial of several components."""
    found = chamfer(TriangleSurface(decoded, item.faces), TriangleSurface(truth, item.faces), seed=seed)
    row = {"chamfer": found.distance, "chamfer_sampling": found.sampling_error}
    if item.closed:
        row["iou"] = volume_iou(decoded, truth, item.faces, item.faces)
    if int(item.component.max()) > 0:
        row["buried"] = buried(decoded, item.faces, item.component, seed=seed)
        row["buried_truth"] = buried(truth, item.faces, item.component, seed=seed)
    return row


def chamfer_floor(item: EvaluationObject, state: int, *, seed: int) -> float:
    """Return what the Chamfer distance gives where nothing is wrong.

    It is that of a true state to itself, stored once more, turned at random, in the half precision of the dataset and
    sampled anew. Without the rounding it would be zero, since distances to triangles are exact.
    """
    truth = item.states[state]
    turn = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    stored = ((truth @ turn.T).astype(np.float16).astype(np.float64)) @ turn
    return chamfer(TriangleSurface(stored, item.faces), TriangleSurface(truth, item.faces), seed=seed).distance
