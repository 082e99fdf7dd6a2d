"""What an Archive says of its own labels beside its answers: real processes, raw requests, kills and a rebuild."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.minting.opening import LocalLabels, LocalMinter
from ibi.minting.rules.minter import Rules
from ibi.minting.store.ticks import SqliteTicks
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.label.generate import mount_suffix_of_repository_name
from ibi.standard.messages import LabelForms
from ibi.storage.machine import MachineClocks, machine_id
from tests.support.deposit_samples import WHO, draft, sources
from tests.support.ibi_command import IbiCommand
from tests.support.one_sided_transfers import Transfers

HOST = {"IBI_MINT_HOST": "homeword.urlib.net", "IBI_MINT_IP": "150.163.34.248"}
COPIES = "one.example.org/arq/2020/01.01.00.00 8JMKD3MGP8W/3UM2JL2"
TO = parse("other.example.org/arq/2020/01.01.00.00")
FIELDS = ("ibi-final", "ibi-transferred-to", "ibi-copies")
Said = tuple[str | None, str | None, str | None]
NOT_CERTAIN: Said = ("no", None, None)
FINAL: Said = ("yes", None, None)
GONE: Said = (None, str(TO), None)


class Asked:
    """A server as a resolver sees it: requests and answers in bytes."""

    def __init__(self, url: str, data: Path) -> None:
        record = ArchiveRecordFile(data).read()
        assert record is not None
        self._service = record.service.labels[0].spelling
        self._host, self._port = urlsplit(url).hostname, urlsplit(url).port

    def __call__(self, label: object, *headers: str) -> tuple[Said, bytes]:
        query = f"clientinformation.ipaddress=8.8.8.8&parsedibiurl.ibi={label}&servicesubject=urlRequest"
        return self.get(f"/{self._service}?{query}", *headers)

    def get(self, target: str, *headers: str) -> tuple[Said, bytes]:
        lines = (f"GET {target} HTTP/1.1", f"Host: {self._host}:{self._port}", "Connection: close", *headers)
        with closing(socket.create_connection((self._host or "", self._port or 0), timeout=60)) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
            answer = b""
            while piece := connection.recv(1 << 16):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *rest = head.decode("ascii").split("\r\n")
        assert status == "HTTP/1.1 200 OK", answer
        values = dict(line.lower().split(": ", 1) for line in rest)
        assert values["cache-control"] == ("max-age=300" if body else "no-store")
        final, to, copies = (values.get(name) for name in FIELDS)
        return (final, to, copies), body


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


@contextmanager
def minter(command: IbiCommand) -> Iterator[LocalMinter]:
    """Beside the server, as a command has it."""
    locks = command.home / "locks"
    with closing(SqliteTicks(command.data, machine=machine_id(), lock_directory=locks)) as ticks:
        identity = ticks.identity()
        assert identity is not None
        yield LocalMinter(ticks, identity, Rules(), MachineClocks(), lambda: None)


def now() -> Instant:
    return MachineClocks().read().wall


def reserved(command: IbiCommand, after: Instant) -> LabelForms:
    """For a deposit that never came: of a draft that was discarded, say. Dates are rounded down, so that the first ones
    may be older than the record is."""
    with minter(command) as beside:
        labels = LocalLabels(beside.mint, "token:1")
        while (forms := labels.reserve()).labels[0].instant <= after:
            pass
        return forms


def deposited(command: IbiCommand) -> Item:
    with minter(command) as beside, open_store(command.data) as store:
        labels = LocalLabels(beside.mint, "token:1")
        return Deposits(store, labels, MachineClocks()).deposit(draft("a.txt"), sources(a=b"text"), WHO)


def released(command: IbiCommand, *, keep_copy: bool) -> Item:
    item = deposited(command)
    with open_store(command.data) as store:
        Transfers(store, MachineClocks()).release(item.rep, TO, WHO, keep_copy=keep_copy)
    return item


def never_minted() -> str:
    """A label of this very moment."""
    return f"urlib.net/homeword/{mount_suffix_of_repository_name(now())}"


def test_what_is_said_of_labels_and_that_it_stays(command: IbiCommand) -> None:
    copies = COPIES.lower().replace(" ", ", ")
    with command.up(**HOST, IBI_ARCHIVE_COPIES_AT=COPIES) as (server, url):
        ask = Asked(url, command.data)
        minted = json.loads(command("mint", "--json", "--data", str(command.data), **HOST).out)
        kept, original = reserved(command, now()), deposited(command)
        gone, copy = released(command, keep_copy=False), released(command, keep_copy=True)
        nowhere = never_minted()
        expected: dict[object, Said] = {
            minted["rep"]: NOT_CERTAIN,
            minted["ibip"]: NOT_CERTAIN,
            **dict.fromkeys((*kept.labels, nowhere, nowhere.upper()), FINAL),
            "urlib.net/homeword.81/2026/11.15.10.00": NOT_CERTAIN,
            "urlib.net/other/2026/11.15.10.00": NOT_CERTAIN,
            "urlib.net/homeword/2020/01.01.00.00": NOT_CERTAIN,
            "urlib.net/homeword/9000/01.01.00.00": FINAL,
            **dict.fromkeys(gone.labels.labels, GONE),
        }

        def check() -> None:
            for label, said in expected.items():
                assert ask(label) == (said, b""), label
            assert ask(original.rep)[0] == (None, None, copies)
            said, body = ask(copy.rep)
            assert said == (None, str(TO), None)
            assert b"state Copy" in body

        for _ in range(2):  # made, then kept
            check()
        server.send_signal(signal.SIGKILL)
        server.wait(30)
    with command.up(**HOST, IBI_ARCHIVE_COPIES_AT=COPIES) as (_, url):
        ask = Asked(url, command.data)
        check()
        rebuilt = command("rebuild", "--data", str(command.data), **HOST)
        assert (rebuilt.code, rebuilt.err) == (0, "")
        # Something may have been put back: what was certain before is not, and what comes later is.
        expected |= dict.fromkeys((*kept.labels, nowhere, nowhere.upper()), NOT_CERTAIN)
        check()
        expected |= dict.fromkeys((*reserved(command, now()).labels, never_minted()), FINAL)
        check()


def test_a_page_elsewhere_cannot_inflate_counts(command: IbiCommand) -> None:
    with command.up(**HOST) as (_, url):
        ask, item = Asked(url, command.data), deposited(command)
        record = ArchiveRecordFile(command.data).read()
        assert record is not None
        key = ask(item.rep)[1].rpartition(b"urlkey ")[2].decode()
        for number, site in enumerate(("cross-site", "cross-site", "none")):
            query = (
                f"clientinformation.ipaddress=8.8.8.{number}&contenttype=Data&servicesubject=acknowledgment"
                f"&state=Original&url=http://a.br/x&url.persistent=http://urlib.net/{item.rep}&urlkey={key}"
            )
            lines = (f"GET /{record.service.labels[0].spelling}?{query} HTTP/1.1", "Host: a.br", "Connection: close")
            parts = urlsplit(url)
            with closing(socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)) as connection:
                connection.sendall("\r\n".join((*lines, f"Sec-Fetch-Site: {site}")).encode() + b"\r\n\r\n")
                answer = b""
                while piece := connection.recv(1 << 16):
                    answer += piece
            assert answer.endswith(b"\r\n\r\nnotice {acknowledgment received}")
    stats = command("stats", str(item.rep), "--json", "--data", str(command.data), **HOST)
    assert json.loads(stats.out)["resolutions"] == 1, stats
