"""Deposits over HTTP beside the same deposits in process: one small item a request, and many in a batch.

What is compared is measured in turns, on one disk. `python -m bench.deposits` measures this suite alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.archive import CountedLabels, collecting_as_a_server, draft_of
from bench.content import DISK, rate
from bench.figure import Figure, figure_table
from bench.serving import IBI, Client, Spent, ibi_up
from ibi.deposits.model import DraftRecord, Publication, encode_draft
from ibi.deposits.service.drafts import new_draft_id
from ibi.items.model.content import Bytes, Source
from ibi.items.model.item import Description
from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.storage.machine import MachineClocks

__all__ = ["figures"]

ROUNDS = 3
ITEMS = 400
CONNECTIONS = 16
A_BATCH = 50
CALLERS = 8
DRAFTS = 20_000
SINGLE_AIM, BATCH_AIM = 0.25, 0.5
FEED_ROUNDS, FEED_ITEMS, FEED_AIM = 40, 200, 1.03
MEMORY = "/dev/shm"
EDGE = b"edge-of-the-parts"
SAID = json.dumps({"metadata": {"title": "Relatório de atividades"}}).encode()


class Round(NamedTuple):
    """Items a second, and µs of CPU an item."""

    in_process: tuple[float, float]
    single: tuple[float, float]
    batch: tuple[float, float]


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=DISK) as home:
        found = [*measured(Path(home) / "few", 0), *measured(Path(home) / "many", DRAFTS)]
    return [*found, share_of_feed()]


def measured(home: Path, drafts: int) -> Iterator[Figure]:
    """With so many drafts of the last days on the disk: half of them open, half published."""
    data = home / "data"
    data.mkdir(parents=True)
    with ibi_up(data):  # begins the Archive
        token = token_of(data)
    add_drafts(data, drafts)
    numbers = count()
    with ibi_up(data) as server, open_store(home / "in-process") as store, collecting_as_a_server():
        made = Deposits(store, CountedLabels(1_000_000_000), MachineClocks())

        def deposit() -> object:
            sources: dict[str, Source] = {"text.txt": Bytes(content(next(numbers)))}
            return made.deposit(draft_of("text.txt"), sources, "bench")

        with Client(server, CONNECTIONS, 201) as single, Client(server, CONNECTIONS) as batches:
            rounds = [
                one_round(
                    deposit,
                    lambda: single.send([request(token, b"", [next(numbers)]) for _ in range(ITEMS)]),
                    lambda: batches.send(
                        [
                            request(token, b"/batch", [next(numbers) for _ in range(A_BATCH)])
                            for _ in range(2 * ITEMS // A_BATCH)
                        ]
                    ),
                )
                for _ in range(ROUNDS + 1)
            ]
    yield from compared(rounds[1:], f", {drafts:,} drafts on disk" if drafts else "")


def one_round(deposit: Callable[[], object], single: Callable[[], Spent], batch: Callable[[], Spent]) -> Round:
    each, cost = rate(deposit, CALLERS)
    one, many = single(), batch()
    return Round((each, 1e6 * cost), (one.rate, one.cpu_each), (many.rate * A_BATCH, many.cpu_each / A_BATCH))


def compared(rounds: Sequence[Round], where: str) -> Iterator[Figure]:
    def figure(name: str, which: int, aim: float | None) -> Figure:
        ratios = [each[which][0] / each.in_process[0] for each in rounds]
        cost = median(each[which][1] for each in rounds)
        value, ratio = median(each[which][0] for each in rounds), median(ratios)
        note = f"{min(ratios):.2f} to {max(ratios):.2f}×; {cost:.0f} µs CPU each"
        return Figure(
            name + where,
            value,
            "items/s",
            ratio,
            None if aim is None else f"≥ {aim:g}×",
            aim is None or ratio >= aim,
            note,
        )

    yield figure(f"deposits in process, {CALLERS} callers (reference)", 0, None)
    yield figure(f"deposits over HTTP, {CONNECTIONS} connections, one a request", 1, SINGLE_AIM)
    yield figure(f"deposits over HTTP, {CONNECTIONS} connections, {A_BATCH} a request", 2, BATCH_AIM)


# --- what the feed of changes costs ----------------------------------------------------------------------------------

NO_TEXTS = "from ibi.items.service.full_text import FullTextWorker; FullTextWorker.jobs = lambda self: ();"
"""The text of files is read from what the feed tells, beside requests: another work than the entry itself."""
NO_ENTRIES = (
    "from ibi.items.store.catalogue import rows as catalog_rows; "
    "vars(catalog_rows)['append_change'] = lambda *_, **__: None;"
)
FEED_SIDES = {
    name: (sys.executable, "-c", f"from ibi.command import main; {NO_TEXTS}{without} main()")
    for name, without in {"no-feed": NO_ENTRIES, "feed": ""}.items()
}
"""The command, with a catalogue that writes no entries, and as it is."""


def share_of_feed() -> Figure:
    """Small items, one a request, on two servers in turns. In memory, where that is possible: how long a disk takes
    to make files varies from minute to minute by more than an entry costs."""
    numbers = count()
    memory = MEMORY if os.access(MEMORY, os.W_OK) else DISK
    with tempfile.TemporaryDirectory(prefix="ibi-bench-", dir=memory) as home, ExitStack() as opened:
        sides = [side(opened, Path(home) / name, program) for name, program in FEED_SIDES.items()]

        def send(which: int) -> Spent:
            client, token = sides[which]
            return client.send([request(token, b"", [next(numbers)]) for _ in range(FEED_ITEMS)])

        rounds = []
        for number in range(FEED_ROUNDS + 1):  # each side is as often the first as the second
            spent = {which: send(which) for which in ((0, 1) if number % 2 else (1, 0))}
            rounds.append((spent[0], spent[1]))
        rounds = rounds[1:]
    ratios = [fed.cpu_each / bare.cpu_each for bare, fed in rounds]
    slower = median(bare.rate / fed.rate for bare, fed in rounds)
    ratio, cost = median(ratios), median(fed.cpu_each for _, fed in rounds)
    return Figure(
        "a deposit over HTTP with an entry in the feed, beside one without",
        cost,
        "µs CPU",
        ratio,
        f"≤ {FEED_AIM:g}×",
        ratio <= FEED_AIM,
        f"{min(ratios):.2f} to {max(ratios):.2f}×; {slower:.2f}× the time",
    )


def side(opened: ExitStack, home: Path, program: Sequence[str]) -> tuple[Client, bytes]:
    data = home / "data"
    data.mkdir(parents=True)
    server = opened.enter_context(ibi_up(data, program))
    return opened.enter_context(Client(server, CONNECTIONS, 201)), token_of(data)


# --- what is sent ----------------------------------------------------------------------------------------------------


def content(number: int) -> bytes:
    return b"%d" % number + b"x" * 2000


def request(token: bytes, path: bytes, numbers: Sequence[int]) -> bytes:
    parts = b"".join(
        part(b'name="item"', b"application/json", SAID)
        + part(b'name="file"; filename="text.txt"', b"text/plain", content(number))
        for number in numbers
    )
    body = parts + b"--%b--\r\n" % EDGE
    return (
        b"POST /api/items%b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n"
        b"Content-Type: multipart/form-data; boundary=%b\r\nContent-Length: %d\r\n\r\n%b"
        % (path, token, EDGE, len(body), body)
    )


def part(name: bytes, media_type: bytes, body: bytes) -> bytes:
    head = b"--%b\r\nContent-Disposition: form-data; %b\r\nContent-Type: %b\r\n\r\n" % (EDGE, name, media_type)
    return head + body + b"\r\n"


def token_of(data: Path) -> bytes:
    command = (*IBI, "token", "create", "--scope", "deposit", "--name", "bench", "--json", "--data", str(data))
    told = subprocess.run(command, capture_output=True, check=True, cwd=data.parent).stdout
    return str(json.loads(told)["token"]).encode()


def add_drafts(data: Path, number: int) -> None:
    """As servers have left them, without waiting for the disk."""
    folder, forms = data / "drafts", LabelForms(RepositoryName.parse("bench.sid.inpe.br/80/2026/01.01.00.00"))
    if number:
        (folder / "published").mkdir(parents=True)
    now = int(time.time())
    for each in range(number):
        record = DraftRecord(
            id=new_draft_id(),
            owner=f"service:depositor-{each % 300}",
            created=Instant(now),
            description=Description(),
            publication=Publication(forms, 1) if each % 2 else None,
        )
        if record.publication is not None:
            (folder / "published" / f"{record.id}.json").write_bytes(encode_draft(record))
            continue
        for name in ("files", "bytes"):
            (folder / record.id / name).mkdir(parents=True)
        (folder / record.id / "draft.json").write_bytes(encode_draft(record))
    os.sync()


def main() -> int:
    found = figures()
    print(figure_table(found))
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
