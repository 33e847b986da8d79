"""Measure and print: ``python -m benchmarks`` for all, or with the names of some."""

from __future__ import annotations

import sys

from benchmarks import calibration, handling, heartbeat, memory, network, opening, reading, stepping
from benchmarks.figures import Figure, table
from engine.runtime.cores import use_spare_cores

BENCHMARKS = {
    "open": opening.measure,
    "step": stepping.measure,
    "decode": stepping.measure_decode,
    "heartbeat": heartbeat.measure,
    "memory": memory.measure,
    "scaling": stepping.measure_scaling,
    "drag": handling.measure_drags,
    "drop": handling.measure_drops,
    "reading": reading.measure,
    "network": network.measure,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, all by default; the status is 1 if a bar was missed, 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"There is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}.\n")
        return 2
    use_spare_cores()
    figures: list[Figure] = []
    for name in names or BENCHMARKS:
        sys.stderr.write(f"{name} ...\n")
        figures.extend(BENCHMARKS[name]())
    print(table([*figures, *calibration.measure()]))
    return int(any(figure.good is False for figure in figures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
