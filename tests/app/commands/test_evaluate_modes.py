"""Film strips of reduced directions: rows, amplitudes, figures and the size of the sheet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
import typer
from PIL import Image
from typer.testing import CliRunner

from app.commands.evaluate_modes import MOTION, PICTURES, mode_states, modes, range_amplitude, save_jpeg
from engine.geometry.mesh_reader import load_rest_shape
from engine.kinematics.object_kinematics import ObjectKinematics, prepare_object
from tests.app.commands.conftest import ROOT

BEAR, BOX = (ROOT / "assets" / "objects" / f"{name}.glb" for name in ("plush_bear", "box"))

commands = typer.Typer()
commands.command()(modes)


@pytest.fixture(scope="module")
def bear() -> ObjectKinematics:
    """The gallery's bear with the program's network."""
    return prepare_object(load_rest_shape(BEAR))


def test_sheets_of_a_soft_and_a_rigid_object(tmp_path: Path) -> None:
    """A bear has six rows, a parcel without directions one picture; both sheets are small."""
    done = CliRunner().invoke(commands, [str(BEAR), str(BOX), "-o", str(tmp_path), "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    bear, box = json.loads(done.stdout)
    assert len(bear["modes"]) == 6 and bear["k_q"] >= 6
    assert [mode["share"] for mode in bear["modes"]] == sorted((m["share"] for m in bear["modes"]), reverse=True)
    assert (box["k_q"], box["modes"]) == (0, [])
    heights: list[int] = []
    for name in ("plush_bear", "box"):
        path = tmp_path / f"modes_{name}.jpg"
        assert path.stat().st_size <= 300_000
        with Image.open(path) as picture:
            heights.append(picture.height)
    assert heights[0] - heights[1] == pytest.approx(5 * (152 + 24 + 2 + 14)), "five rows more"


def test_the_middle_of_a_row_is_the_rest_shape(bear: ObjectKinematics) -> None:
    """States run from -a to +a; the middle is rest to rounding, and the figures are those of the ends."""
    states, mode = mode_states(bear, 0)
    rest, size = np.asarray(bear.rest.vertices), bear.rest.size
    assert states.shape == (PICTURES, *rest.shape)
    np.testing.assert_allclose(states[PICTURES // 2], rest, atol=1e-5)
    assert mode.largest == pytest.approx(np.linalg.norm(states[[0, -1]] - rest, axis=-1).max() / size, rel=1e-5)
    assert 0.0 < mode.motion < mode.largest


def test_amplitude_is_the_wanted_motion_or_the_end_of_the_range(bear: ObjectKinematics) -> None:
    """Where the range bounds a row, that coordinate ends on its border; otherwise the motion is as wanted."""
    unit = bear.reduction.unit
    for index in range(6):
        _, mode = mode_states(bear, index)
        reach = range_amplitude(bear, index)
        ends = []
        for sign in (-1.0, 1.0):
            inside = np.array(bear.prior_offset)
            inside[index] += sign * unit * reach
            ends.append(abs(inside[index]))
        # Of 32 coordinates together 95 % lie within 6.80 deviations, of one alone within 1.96.
        assert max(ends) == pytest.approx(bear.range_radius * 1.96 / 6.796, rel=1e-3)
        wanted = MOTION * bear.rest.size / (float(bear.reduction.rms_motion[index]) * unit)
        assert mode.amplitude == pytest.approx(min(wanted, reach))
        assert mode.limited == (reach < wanted)


def test_a_picture_that_stays_too_large_is_kept_at_the_lowest_quality(tmp_path: Path) -> None:
    """Noise does not get small; the last attempt is written all the same."""
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    fine = save_jpeg(noise, tmp_path / "fine.jpg").stat().st_size
    assert 0 < save_jpeg(noise, tmp_path / "coarse.jpg", largest=10).stat().st_size < fine


def test_a_file_that_is_no_mesh_is_refused(tmp_path: Path) -> None:
    """The reason is one sentence, and no sheet is written."""
    trimesh.PointCloud(np.eye(3)).export(tmp_path / "cloud.ply")
    done = CliRunner().invoke(commands, [str(tmp_path / "cloud.ply"), "-o", str(tmp_path / "out"), "--quiet"])
    assert done.exit_code == 1 and done.stderr.strip()
    assert not list((tmp_path / "out").glob("*.jpg"))
