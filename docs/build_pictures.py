"""Make the moving picture of the README: three clips by `main.py simulate`, side by side in one GIF."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import av
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
SHOTS = {
    "plush_bear": ["--pull", "0.1,0.95,0.1;1,0,0.5;110;0.3;1.2"],
    "laptop": ["--pull", "0,0.62,-0.5;0,0,1;110;0.3;1.3", "--camera", "-35,20,1"],
    "cloth_on_rail": ["--pull", "0.3,0.3,0;0,0,1;0.35;0.3;1.2", "--camera", "-40,12,1"],
}


def frames_of(name: str, options: list[str], folder: Path) -> list[np.ndarray]:
    """Return the pictures of one simulated clip."""
    out = folder / f"{name}.mp4"
    command = [sys.executable, "main.py", "simulate", f"assets/objects/{name}.glb", *options]
    command += ["--seconds", "3.6", "--fps", "20", "--size", "400x360", "-q", "-o", str(out)]
    subprocess.run(command, check=True, cwd=ROOT)
    with av.open(str(out)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def main() -> None:
    """Write docs/pictures/pulled.gif."""
    with tempfile.TemporaryDirectory() as folder:
        clips = [frames_of(name, options, Path(folder)) for name, options in SHOTS.items()]
    rows = [Image.fromarray(np.hstack(row)) for row in zip(*clips, strict=True)]
    # One palette for all pictures, or colours flicker.
    palette = rows[len(rows) // 3].quantize(128, method=Image.Quantize.MEDIANCUT)
    pictures = [row.quantize(palette=palette, dither=Image.Dither.NONE) for row in rows]
    target = ROOT / "docs" / "pictures" / "pulled.gif"
    target.parent.mkdir(exist_ok=True)
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=50, loop=0, optimize=True)


if __name__ == "__main__":
    main()
