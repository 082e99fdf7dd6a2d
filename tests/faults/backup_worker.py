"""Backs a data directory up, or restores it, made to be killed: `backup_worker.py KIND DATA PLACE LOCKS MOMENT`.

It dies at the step of that number, whatever it is, as the system deals it; at 0 never. How many steps there were, and
what was done, is printed at the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from ibi.backup.opening import back_up, restore
from ibi.backup.store import backup_target, restored_directory
from ibi.settings import load_settings

# What waits for one sync of the disk: few, so that a run that is killed leaves something.
backup_target._MOST_FILES = 2  # type: ignore[misc]
restored_directory._MOST_OBJECTS = 2  # type: ignore[misc]


class Steps:
    def __init__(self, moment: int) -> None:
        self.moment, self.count = moment, 0

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self.moment:
            os.kill(os.getpid(), signal.SIGKILL)


def main(kind: str, data: Path, place: str, locks: Path, moment: int) -> None:
    steps = Steps(moment)
    if kind == "backup":
        report = back_up(data, place, os.environ, on_step=steps)
        done = {"versions": report.versions, "number": report.manifest.number}
    else:
        settings = replace(load_settings({"data": str(data)}, {}), lock_dir=locks)
        put_back = restore(data, place, os.environ, reload=lambda: settings, on_step=steps)
        done = {"items": put_back.report.items, "there": put_back.report.there}
    print(json.dumps({"steps": steps.count, **done}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), int(sys.argv[5]))
