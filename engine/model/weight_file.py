"""Files of weights: safetensors, with the file's format, settings and measured facts as text beside the tensors."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn


class CheckpointError(ValueError):
    """A file that is no usable checkpoint; the message says why."""


def write_weights(network: nn.Module, metadata: dict[str, str], path: Path) -> None:
    """Write a network's weights beside the target, then rename the file over it."""
    part = path.with_name(path.name + ".part")
    save_file({k: v.detach().contiguous() for k, v in network.state_dict().items()}, part, metadata)
    part.replace(path)


def read_weights(path: Path, *, wanted: str, restore: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the texts of a file.

    Args:
        path: the file.
        wanted: format that it has to be of.
        restore: what to do where there is no file.

    Raises:
        CheckpointError: the file is missing, is no safetensors file, or is of another format.
    """
    if not path.is_file():
        raise CheckpointError(f"no checkpoint at {path}: {restore}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path.name} is not a readable safetensors file: {error}") from error
    if metadata.get("format") != wanted:
        raise CheckpointError(f"{path.name} is of format {metadata.get('format')!r}; this program reads {wanted!r}")
    return tensors, metadata
