"""Runs every measurement, prints a table, keeps the figures in bench/results/, fails on a missed aim.

`python -m bench.run resolving pages` runs these suites alone, and keeps nothing.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    archive,
    bounds,
    catalogue,
    content,
    copies,
    core,
    deposits,
    fan_out,
    feed,
    following,
    minting,
    misses,
    network,
    pages,
    previews,
    resolving,
    search,
    upkeep,
    workers,
)
from bench.figure import Figure, figure_table
from bench.measurement import Result, measure

RESULTS = Path(__file__).parent / "results"
SIZES = (10_000, 1_000_000, 10_000_000) if os.environ.get("BENCH_FULL") else (10_000, 1_000_000)
"""Of catalogues. The largest takes minutes to fill, and gigabytes of the disk: it is asked for with `BENCH_FULL=1`."""
TITLES = (100_000, 1_000_000) if os.environ.get("BENCH_FULL") else (100_000,)
"""Of catalogues to search."""
SUITES: Mapping[str, Callable[[], Sequence[Figure]]] = {
    "content": content.figures,  # first: the memory it takes is told from the highest there was before
    "minting": minting.figures,
    "catalogue": lambda: catalogue.figures(SIZES),
    "archive": lambda: archive.figures(SIZES),
    "deposits": deposits.figures,
    "upkeep": upkeep.figures,
    "copies": copies.figures,
    "following": following.figures,
    "fan_out": fan_out.figures,
    "resolving": resolving.figures,
    "misses": misses.figures,
    "network": network.figures,
    "search": lambda: search.figures(TITLES),
    "feed": feed.figures,
    "pages": pages.figures,
    "previews": previews.figures,
    "bounds": bounds.figures,
    "workers": workers.figures,
}
"""What is measured of whole services, each beside its own reference."""


def main(names: Sequence[str] = ()) -> int:
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"no suite is called {unknown[0]}: {', '.join(SUITES)}", file=sys.stderr)
        return 2
    results = [] if names else measure(core.REFERENCE, core.measurements())
    if results:
        print(table(results), end="\n\n")
    figures = [figure for name in names or SUITES for figure in SUITES[name]()]
    print(figure_table(figures), end="\n\n")
    if not names:
        print(f"written to {keep(results, figures)}")
    missed = [result.name for result in results if not result.is_met]
    missed += [figure.name for figure in figures if not figure.is_met]
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


def table(results: Sequence[Result]) -> str:
    width = max(len(result.name) for result in results)
    lines = [f"{'':{width}}  {'µs':>9}  {'ratio':>7}  aim"]
    for result in results:
        aim = "" if result.aim is None else f"≤ {result.aim:g}  {'met' if result.is_met else 'MISSED'}"
        lines.append(f"{result.name:{width}}  {result.microseconds:9.3f}  {result.ratio:7.2f}  {aim}".rstrip())
    return "\n".join(lines)


def keep(results: Sequence[Result], figures: Sequence[Figure] = ()) -> Path:
    """Write the figures to a file named after the day and the commit."""
    day, commit = datetime.now(UTC).date().isoformat(), commit_name()
    record = {
        "date": day,
        "commit": commit,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "reference": results[0].name,
        "results": [
            {
                "name": result.name,
                "us": round(result.microseconds, 3),
                "ratio": round(result.ratio, 2),
                "aim": result.aim,
                "met": result.is_met,
            }
            for result in results
        ],
        "figures": [figure.record() for figure in figures],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{day}-{commit}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def commit_name() -> str:
    """The commit measured, `-changed` if the code differs from it, `uncommitted` if there is none."""
    commit = git("rev-parse", "--short=9", "HEAD")
    if not commit:
        return "uncommitted"
    return f"{commit}-changed" if git("status", "--porcelain", "--", "src", "bench/*.py") else commit


def git(*arguments: str) -> str:
    command = ["git", "-C", str(RESULTS.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
