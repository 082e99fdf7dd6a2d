"""Compares two checkouts: `python -m bench.rounds OTHER ROUNDS SUITE...`.

Runs the suites in the other checkout and in this one, in turn, each with the environment and the `bench` of its own
checkout. Prints the median of each figure in both, and the one in proportion to the other. The machine has to do
nothing else meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parents[1]
_PROGRAM = """
import importlib, json, sys
suite = importlib.import_module("bench." + sys.argv[1])
print(json.dumps([figure.record() for figure in suite.figures()]))
"""


def main(arguments: Sequence[str]) -> int:
    other, rounds, *suites = arguments
    values: defaultdict[str, defaultdict[Path, list[float]]] = defaultdict(lambda: defaultdict(list))
    checkouts = Path(other).absolute(), HERE
    for _ in range(int(rounds)):
        for suite in suites:
            for checkout in checkouts:
                for figure in _measure(checkout, suite):
                    values[f"{figure['name']} ({figure['unit']})"][checkout].append(float(figure["value"]))
    for name, found in values.items():
        if all(each in found for each in checkouts):
            before, after = (median(found[each]) for each in checkouts)
            print(f"{before:12,.2f} {after:12,.2f} {after / before:6.2f}x  {name}" if before else f"0 {after}  {name}")
    return 0


def _measure(checkout: Path, suite: str) -> list[dict[str, Any]]:
    """The figures of a suite, measured in a checkout."""
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run([python, "-c", _PROGRAM, suite], cwd=checkout, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
