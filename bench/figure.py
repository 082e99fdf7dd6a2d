"""A figure of a suite that measures a whole service: a value with its unit, perhaps a ratio, perhaps an aim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Figure", "figure_table"]


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    ratio: float | None = None
    """To the reference of the same run."""
    aim: str | None = None
    is_met: bool = True
    note: str = ""

    def record(self) -> dict[str, object]:
        return {
            "name": self.name,
            "value": round(self.value, 2),
            "unit": self.unit,
            "ratio": None if self.ratio is None else round(self.ratio, 2),
            "aim": self.aim,
            "met": self.is_met,
            "note": self.note,
        }


def figure_table(figures: Sequence[Figure]) -> str:
    width = max((len(figure.name) for figure in figures), default=0)
    lines = []
    for figure in figures:
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}×"
        aim = "" if figure.aim is None else f"{figure.aim}  {'met' if figure.is_met else 'MISSED'}"
        line = f"{figure.name:{width}}  {figure.value:12,.1f} {figure.unit:<9} {ratio:>8}  {aim:<36} {figure.note}"
        lines.append(line.rstrip())
    return "\n".join(lines)
