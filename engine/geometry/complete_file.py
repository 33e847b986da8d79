"""Finds mesh files that were cut off, before a reader that takes what is left for the whole.

A PLY or OFF file states how many lines follow, a binary STL how many triangles, and a text STL ends with a word. glTF
is checked in ``gltf_document``; OBJ states nothing, so a cut at the end of one of its lines cannot be seen.
"""

from __future__ import annotations

import re
import struct

from engine.geometry.load_report import MeshError

_STL_HEADER = 84  # 80 bytes of any text and the count of triangles
_STL_TRIANGLE = 50
_STL_TEXT = re.compile(rb"\s*solid[^\r\n]*\s+(facet|endsolid)", re.IGNORECASE)

_PLY_HEADER = re.compile(rb"^ply\s*?\r?\n.*?^end_header[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_PLY_TEXT = re.compile(rb"^format[ \t]+ascii\b", re.MULTILINE)
_PLY_COUNT = re.compile(rb"^element[ \t]+\S+[ \t]+(\d+)", re.MULTILINE)


def complete_data(data: bytes, *, name: str, suffix: str, notes: list[str]) -> bytes:
    """Return the part of a file that is the mesh, once it is known to be whole.

    Args:
        data: the file's bytes.
        name: the file's name, for the message.
        suffix: its extension in small letters, with the dot.
        notes: takes a sentence for what is left out.

    Raises:
        MeshError: less is there than the file itself states.
    """
    if suffix == ".stl":
        return _stl(data, name, notes)
    if suffix == ".off":
        return _off(data, name)
    if suffix == ".ply":
        _check_ply(data, name)
    return data


def _check_ply(data: bytes, name: str) -> None:
    header = _PLY_HEADER.match(data)
    # The reader itself refuses a binary file of the wrong length, and one without a header.
    if header is None or not _PLY_TEXT.search(header[0]):
        return
    stated = sum(int(count) for count in _PLY_COUNT.findall(header[0]))
    _refuse_missing(sum(1 for line in data[header.end() :].splitlines() if line.strip()), stated, "lines", name)


def _off(data: bytes, name: str) -> bytes:
    # The reader joins two lines where a comment ends the first, so it gets the file without comments.
    lines = [line for line in (raw.partition(b"#")[0].strip() for raw in data.splitlines()) if line]
    words = lines[0].split() if lines else []
    if not words or not words[0].upper().endswith(b"OFF"):
        return data
    counts, body = (words[1:], 1) if len(words) > 1 else (lines[1].split() if len(lines) > 1 else [], 2)
    if len(counts) >= 2 and all(count.isdigit() for count in counts[:2]):
        _refuse_missing(len(lines) - body, int(counts[0]) + int(counts[1]), "lines", name)
    return b"\n".join(lines)


def _stl(data: bytes, name: str, notes: list[str]) -> bytes:
    triangles = struct.unpack_from("<I", data, 80)[0] if len(data) >= _STL_HEADER else 0
    stated = _STL_HEADER + _STL_TRIANGLE * triangles
    # Some programs begin binary files with the word of text files, so the length is asked first.
    if len(data) != stated and _STL_TEXT.match(data):
        if b"endsolid" not in data.lower():
            message = f"{name} is cut off: its closing word 'endsolid' is not there. Export or download it again."
            raise MeshError(message)
        return data
    if len(data) < _STL_HEADER:
        message = (
            f"{name} could not be read as STL ({len(data)} bytes are too few for its header); "
            "it may be cut off, damaged, or of another format. Export or download it again."
        )
        raise MeshError(message)
    _refuse_missing((len(data) - _STL_HEADER) // _STL_TRIANGLE, triangles, "triangles", name)
    if len(data) > stated:
        notes.append(f"{len(data) - stated} bytes after the last triangle were left out.")
    return data[:stated]


def _refuse_missing(there: int, stated: int, things: str, name: str) -> None:
    if there < stated:
        message = (
            f"{name} is cut off or damaged: {there} of the {stated} {things} that it states are there. "
            "Export or download it again."
        )
        raise MeshError(message)
