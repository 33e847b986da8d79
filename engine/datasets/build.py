"""Build the procedural 4D dataset: shards of `Motion` and a card that counts them."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np

from engine.datasets.articulated.assembly import sweep
from engine.datasets.articulated.families import FAMILIES
from engine.datasets.modal import rigid_body, sheet, soft_body
from engine.datasets.motion import Motion

logger = logging.getLogger(__name__)

FRAMES = 24
SHARD = 100
# Shares of the kinds. Rigid bodies are few: they only have to teach the latent to stay still.
SHARES = {"articulated": 0.46, "elastic": 0.32, "cloth": 0.14, "rigid": 0.08}


def make_motion(seed: int) -> Motion:
    """Make the motion of one seed: the same seed gives the same object and frames."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    if kind == "articulated":
        family = str(rng.choice(list(FAMILIES)))
        return sweep(FAMILIES[family](rng), rng, frames=FRAMES, family=family)
    if kind == "elastic":
        return soft_body(rng, frames=FRAMES)
    return sheet(rng, frames=FRAMES) if kind == "cloth" else rigid_body(rng)


def build_dataset(folder: Path, *, count: int, first_seed: int = 0) -> None:
    """Write ``count`` motions in shards to a folder; shards that are there already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    families: dict[str, int] = {}
    for start in range(first_seed, first_seed + count, SHARD):
        path = folder / f"shard_{start:06d}.npz"
        if path.exists():
            continue
        motions: list[Motion] = []
        for seed in range(start, min(start + SHARD, first_seed + count)):
            try:
                motions.append(make_motion(seed))
            except (ValueError, RuntimeError) as error:
                # A degenerate random shape (an empty blob, a cage too small) is left out and counted.
                logger.warning("seed %d left out: %s", seed, error)
        save_shard(motions, path)
        for motion in motions:
            families[motion.family] = families.get(motion.family, 0) + 1
        logger.info("%s: %d motions", path.name, len(motions))
        (folder / "card.json").write_text(json.dumps({"frames": FRAMES, "families": families}, indent=2))
