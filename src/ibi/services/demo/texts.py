"""What the items of the demonstration say: files of this package, and tables of numbers that were never measured."""

from __future__ import annotations

from importlib.resources import files


def content(name: str) -> bytes:
    return (files("ibi.services.demo") / "content" / name).read_bytes()


def paragraphs(name: str) -> tuple[str, ...]:
    """Of a text in which an empty line ends each."""
    return tuple(" ".join(each.split()) for each in content(name).decode().split("\n\n"))


def rainfall(station: int, year: int) -> bytes:
    """Twelve months of a station that does not exist, always the same."""
    rows = ["month,rain_mm,days_of_rain"]
    for month in range(1, 13):
        wet = abs(month - 7) * 31
        amount = wet + (station * 37 + year * 13 + month * 101) % 47
        rows.append(f"{year}-{month:02d},{amount},{min(29, amount // 9)}")
    return ("\n".join(rows) + "\n").encode()
