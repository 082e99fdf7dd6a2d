"""Processes of a transfer between two servers. `transfer_processes.py run ORDERS ARGUMENT…` is the command, which dies
at the step that the file of orders names; `transfer_processes.py watch LABEL A B RESOLVER` asks all the time who has
the Original, and tells whenever that changes.

A watcher asks the receiver first and then the sender: once the receiver has said Original, the sender never does again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

TWO = "two Originals"
PAUSE = "pause"
"""While a file of this name is beside the orders of a server, it goes on with no transfer: others do."""
_BETWEEN = 0.005
"""Seconds between two rounds of questions, so that others get a processor."""
_PATIENCE = 10.0


class OrderedDeath:
    """Ends this process at the step in a file, whenever there is one; the file goes with it."""

    def __init__(self, orders: Path) -> None:
        self._orders = orders
        self._visits: Counter[tuple[str, str]] = Counter()

    def __call__(self, step: str) -> None:
        with suppress(FileNotFoundError):
            text = self._orders.read_text()
            wanted, visit, _ = json.loads(text)
            self._visits[text, step] += 1
            if (wanted, visit) == (step, self._visits[text, step]):
                self._orders.unlink()
                os.kill(os.getpid(), signal.SIGKILL)


def order_death(orders: Path, step: str, visit: int, case: str) -> None:
    """The next process with these orders that comes to the step so often dies there."""
    whole = orders.with_suffix(".new")
    whole.write_text(json.dumps([step, visit, case]))
    whole.rename(orders)


def run(orders: Path) -> None:
    from ibi.command import main
    from ibi.items.opening import archive_store
    from ibi.items.service.archive_store import ArchiveStore
    from ibi.transfers import model as transfer_ledger
    from ibi.transfers.service import worker

    vars(worker)["_IDLE"] = 0.05
    vars(transfer_ledger)["wait_after"] = lambda attempts: min(attempts // 8, 1)  # others wait for it in tests
    go_on = worker.TransferWorker.step
    worker.TransferWorker.step = lambda self: None if (orders.parent / PAUSE).exists() else go_on(self)  # type: ignore[method-assign]
    step = OrderedDeath(orders)
    vars(archive_store)["ArchiveStore"] = lambda *given, **named: ArchiveStore(*given, **{**named, "on_step": step})
    main()


def ask(url: str, path: str) -> tuple[int, str | None, str]:
    """Status, location and body; 0 if there is no answer."""
    where = urlsplit(url)
    with (
        suppress(OSError, HTTPException),
        closing(HTTPConnection(str(where.hostname), where.port, timeout=_PATIENCE)) as connection,
    ):
        connection.request("GET", path, headers={"Cache-Control": "no-cache"})
        answer = connection.getresponse()
        return answer.status, answer.getheader("location"), answer.read().decode(errors="replace")
    return 0, None, ""


def state_at(place: str, label: str) -> str | None:
    """What an Archive, whose URL ends with its service, says to a resolver that asks it."""
    from ibi.standard.label import parse
    from ibi.standard.messages import UrlRequest
    from ibi.standard.messages.values import ip_address

    url, _, service = place.partition("#")
    query = UrlRequest((ip_address("127.0.0.1"),), parse(label)).to_query()
    found = re.search(r"(?:^|\s)state (\w+)", ask(url, f"/{service}?{query}")[2])
    return None if found is None else found[1]


def original_by(resolver: str, label: str) -> str | None:
    """The server that a resolver says has the Original; `TWO` if it says that two have."""
    status, location, _ = ask(resolver, f"/{label}?ibiurl.requireditemstatus=Original")
    if status == 409:
        return TWO
    return None if location is None else urlsplit(location).netloc


def watch(label: str, a: str, b: str, resolver: str) -> None:
    before, asked, has_moved = None, 0, False
    while True:
        come, left, named = state_at(b, label), state_at(a, label), original_by(resolver, label)
        has_moved |= come == "Original"
        is_wrong = (has_moved and left == "Original") or named == TWO
        asked += 1
        if (come, left, named, is_wrong) != before or asked % 100 == 0:
            before = come, left, named, is_wrong
            told = {"asked": asked, "a": left, "b": come, "resolver": named, "wrong": is_wrong}
            print(json.dumps(told), flush=True)
        time.sleep(_BETWEEN)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        orders_file = Path(sys.argv[2])
        sys.argv[1:] = sys.argv[3:]
        run(orders_file)
    else:
        watch(*sys.argv[2:])
