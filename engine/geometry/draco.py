"""Draco: the compressed meshes that glTF files may carry, decoded into plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt32

from engine.geometry.load_report import MeshError

# Decoders before this one give positions only, not the joints and weights of a skin.
_PACKAGE = "DracoPy>=1.7"


@dataclass(frozen=True, slots=True)
class DracoMesh:
    """A decoded mesh.

    Attributes:
        attributes: values of each vertex, one array (vertices, components) for each unique id that
            the encoder gave; float32, or integers of the width that the decoder chose.
        faces: triangles over the vertices.
    """

    attributes: dict[int, np.ndarray]
    faces: UInt32[np.ndarray, "m 3"]


def decode_draco(data: bytes, *, file: str) -> DracoMesh:
    """Decode a Draco bitstream.

    Args:
        data: the whole bitstream.
        file: name of the file that it is from, for messages.

    Raises:
        MeshError: the decoder is not installed, or the data are damaged or hold no triangles.
    """
    decoder = _decoder(file)
    try:
        mesh = decoder.decode(data)
    except MemoryError:
        raise
    # The decoder has exceptions of its own, derived from Exception alone.
    except Exception as error:
        message = f"{file} holds Draco geometry that cannot be decoded ({error}). Export or download it again."
        raise MeshError(message) from error
    faces = np.asarray(getattr(mesh, "faces", ()), np.uint32)
    if faces.ndim != 2 or faces.shape[1] != 3:
        message = f"{file} holds Draco geometry without triangles; export it as a surface mesh."
        raise MeshError(message)
    attributes: dict[int, np.ndarray] = {}
    for attribute in mesh.attributes:
        values = np.asarray(attribute["data"])
        if values.dtype.kind == "f":
            values = values.astype(np.float32)
        attributes[int(attribute["unique_id"])] = values.reshape(len(values), -1)
    return DracoMesh(attributes, faces)


def _decoder(file: str) -> Any:
    # Imported only for the files that need it.
    try:
        import DracoPy
    except ImportError as error:
        message = (
            f"{file} is compressed with Draco (KHR_draco_mesh_compression), and its decoder is not installed; "
            f"`pip install '{_PACKAGE}'`, or export the file again without compression."
        )
        raise MeshError(message) from error
    if not hasattr(DracoPy, "AttributeType"):
        message = f"{file} is compressed with Draco, and the decoder here is too old; `pip install '{_PACKAGE}'`."
        raise MeshError(message)
    return DracoPy
