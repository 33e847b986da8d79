"""Tables of figures, for a terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of words.

    Attributes:
        title: what it shows.
        header: names of the columns.
        rows: cells, as many as the header has.
        note: how to read it; may be empty.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def plain(self) -> str:
        """Return the table with aligned columns."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        text = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        text.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *text, *([self.note] if self.note else [])])

    def markdown(self, *, level: int = 3) -> str:
        """Return the table as Markdown, with a heading of the given level."""
        lines = [self._line(self.header), "|" + "---|" * len(self.header), *map(self._line, self.rows)]
        note = f"\n{self.note}\n" if self.note else ""
        return f"{'#' * level} {self.title}\n\n" + "\n".join(lines) + "\n" + note

    @staticmethod
    def _line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
