"""Upgrades a data directory, made to be killed: `upgrade_worker.py DATA STEP MOMENT`.

It dies at the step of that name, or at the call of that number of whatever function; with neither, it prints how many
calls there were.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from ibi.storage.earlier_layout import upgrade_layout
from ibi.storage.state import make_empty_state
from tests.faults.killer import Killer


def main(data: Path, step: str, moment: int) -> None:
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    try:
        upgrade_layout(data, make_empty_state, Killer(step, 1))
    finally:
        sys.setprofile(None)
    print(json.dumps({"calls": calls}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
