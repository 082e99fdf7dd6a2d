"""An Archive that makes and drops Copies, made to be killed: `copy_worker.py DATA SOURCE ACT STEP VISIT`.

Prints a line as soon as something is done: what it has printed, others rely on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ibi.copies.client.item_source import HttpItemSources
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.copying import Copying
from ibi.copies.service.jobs import bring_many
from ibi.copies.store.copy_parts import CopyParts
from ibi.items.opening.archive_store import open_store
from ibi.standard.label import parse
from ibi.storage.machine import MachineClocks
from tests.faults.killer import Killer
from tests.support.copy_world import IBIP


def main(data: Path, source: str, act: str, step: str, visit: int) -> None:
    label = parse(IBIP)
    with open_store(data, on_step=Killer(step, visit)) as store:
        copying = Copying(store, HttpItemSources(), CopyParts(data), MachineClocks(), CopyRules())
        if act == "drop":
            copying.drop(label, "worker")
        elif act == "many":
            list(
                bring_many(
                    copying, [label, parse("lab.br/arq/2001/01.01.01.01")], source, None, lambda _: None, who="worker"
                )
            )
        else:
            copying.bring(label, source, who="worker")
        sys.stdout.write(f"{act}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
