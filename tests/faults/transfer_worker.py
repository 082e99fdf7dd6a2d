"""Two Archives on real stores, made to be killed while an Original moves: `transfer_worker.py FOLDER ORDERS`.

It goes on with the transfer until it is at its end. Which of the two dies, and at which step, is in the orders; the
numbers of messages whose answers are lost, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from ibi.transfers.model import SenderStage
from tests.faults.killer import Killer
from tests.support.deposit_samples import labels
from tests.support.transfer_archives import TransferArchive, TransferNetwork

ROUNDS = 12


@dataclass(frozen=True)
class Orders:
    side: str = ""
    """Who dies: a or b."""
    step: str = ""
    visit: int = 1
    losses: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def killer(self, side: str) -> Callable[[str], None]:
        return Killer(self.step if side == self.side else "", self.visit)


def main(folder: Path, orders: Orders) -> None:
    network, label = TransferNetwork(), labels(0).labels[0]
    network.losses = set(orders.losses)
    with ExitStack() as opened:
        a, b = (
            TransferArchive(network, name, folder, opened, on_step=orders.killer(name), is_new=False) for name in "ab"
        )
        item = a.store.find(label)
        for number in range(ROUNDS):
            if number == 0:  # a command that is given again
                a.sending.begin(item, b.url, "agreed")
            else:
                a.sending.go_on(item.rep)
            if b.ledger.incoming(item.rep) is not None:
                b.receiving.go_on(item.rep)
            known = a.ledger.outgoing(item.rep)
            if known is not None and known.stage is SenderStage.DONE:
                sys.stdout.write("done\n")
                return


if __name__ == "__main__":
    said = json.loads(sys.argv[2])
    main(Path(sys.argv[1]), Orders(**{**said, "losses": tuple(said.get("losses", ()))}))
