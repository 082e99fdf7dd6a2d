"""The ledger of drafts: its sums are those of the disk, at the same cost however many drafts there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.deposits.model import DraftRecord, Publication
from ibi.deposits.rules.drafts import DraftQuota, DraftRules, Holding
from ibi.deposits.service.drafts import new_draft_id
from ibi.deposits.service.ledger import DraftLedger
from ibi.deposits.store.draft_bytes import DraftChanges
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.model.file import UNKNOWN_SHA_512, File
from ibi.items.model.item import Description
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from tests.support.set_clocks import SetClocks

OWNERS: Final = ("service:ana", "service:bia")
QUOTA: Final = DraftQuota(drafts=6, size=2000)
FORMS: Final = LabelForms(RepositoryName.parse("ibi.lab.br/ibi/2026/01.01.00.00"))


class Process:
    """What one server has open, and does with drafts as `Drafts` does."""

    def __init__(self, world: World) -> None:
        self.files = DraftFiles(world.data, world.clocks)
        rules = DraftRules(100_000, 30, QUOTA)
        self.ledger = DraftLedger(self.files, rules, world.clocks, lambda: world.monotonic)
        self.coming: list[tuple[Any, Any, str]] = []

    def begin(self, owner: str) -> None:
        made = DraftRecord(id=new_draft_id(), owner=owner, created=Instant(0), description=Description())
        with self.ledger.admit(owner, made.id):
            self.files.create(made)

    def receive(self, draft: str, path: str, size: int) -> None:
        record = self.files.read(draft)
        if record is None or record.publication is not None:
            return
        share = self.ledger.promise(record.owner, draft, path, size)
        incoming = self.files.receive(draft)
        share.begin(incoming)
        self.coming.append((share, incoming, path))
        share.write(size)
        incoming.write(b"x" * size)

    def end(self, *, keep: bool) -> None:
        if not self.coming:
            return
        share, incoming, path = self.coming.pop()
        if keep and self.files.read(share.draft) is not None:
            with suppress(IbiError), self.files.alone_on(share.draft):
                self.files.keep(share.draft, incoming, File(path, incoming.size, UNKNOWN_SHA_512, "text/plain"))
                share.settle()
                return
        incoming.abandon()
        share.release()

    def drop(self, draft: str, path: str) -> None:
        with self.files.alone_on(draft):
            self.files.drop(draft, path)
            self.ledger.see_anew(draft)

    def publish(self, draft: str) -> None:
        record = self.files.read(draft)
        assert record is not None
        self.files.conclude(replace(record, publication=Publication(FORMS, 1)))
        self.ledger.forget(draft)

    def discard(self, draft: str) -> None:
        self.files.remove(draft)
        self.ledger.forget(draft)

    def held(self) -> dict[str, Holding]:
        return {owner: self.ledger.holding(owner) for owner in OWNERS}


class World:
    """Two servers on one data directory."""

    def __init__(self, data: Path) -> None:
        self.data, self.clocks, self.monotonic = data, SetClocks(), 0.0
        self.processes = [Process(self), Process(self)]

    def kill(self, number: int) -> None:
        """Files on their way are left, unlocked; nothing is said to the others. Another process takes its place."""
        for _, incoming, _ in self.processes[number].coming:
            incoming.close()
        self.processes[number] = Process(self)

    def drafts(self) -> list[str]:
        return sorted(path.name for path in self.data.glob("drafts/draft-*"))

    def naive(self) -> dict[str, Holding]:
        """The sums as the directories have them."""
        held = dict.fromkeys(OWNERS, Holding())
        for draft in self.drafts():
            record = DraftFiles(self.data, self.clocks).read(draft)
            assert record is not None
            size = sum(path.stat().st_size for path in (self.data / "drafts" / draft / "bytes").iterdir())
            before = held[record.owner]
            held[record.owner] = Holding(before.drafts + 1, before.size + size)
        return held


@contextmanager
def new_world() -> Iterator[World]:
    with TemporaryDirectory() as place:
        yield World(Path(place))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("begin", "receive", "keep", "abandon", "drop", "publish", "discard", "kill", "compare")),
        st.integers(0, 1),
        st.integers(0, 7),
        st.integers(0, 400),
    ),
    max_size=40,
)


def take(world: World, what: str, process: int, which: int, size: int) -> None:
    own, drafts = world.processes[process], world.drafts()
    if what == "begin":
        own.begin(OWNERS[which % 2])
    elif what in {"keep", "abandon"}:
        own.end(keep=what == "keep")
    elif what == "kill":
        world.kill(process)
    elif not drafts:
        return
    elif what == "receive":
        own.receive(drafts[which % len(drafts)], f"{size % 3}.txt", size)
    elif what == "drop":
        own.drop(drafts[which % len(drafts)], f"{size % 3}.txt")
    elif what == "publish":
        own.publish(drafts[which % len(drafts)])
    elif what == "discard":
        own.discard(drafts[which % len(drafts)])


@given(STEPS)
def test_the_sums_are_those_of_the_disk(steps: list[tuple[str, int, int, int]]) -> None:
    """Of two processes, whatever each does, and one of them may be killed at any time."""
    with new_world() as world:
        for what, process, which, size in steps:
            with suppress(IbiError):  # a quota, which the sums at the end tell of
                take(world, what, process, which, size)
            if what == "compare":
                assert_sums(world)
        assert_sums(world)
        for process in (0, 1):
            while world.processes[process].coming:
                world.processes[process].end(keep=True)
        world.processes.append(Process(world))
        naive = world.naive()
        assert [each.held() for each in world.processes] == [naive] * 3
        assert all(held.drafts <= QUOTA.drafts and held.size <= QUOTA.size for held in naive.values())


def assert_sums(world: World) -> None:
    """What is on its way into a draft that was discarded meanwhile counts until it ends."""
    naive = world.naive()
    for each in world.processes:
        mine = [(share.owner, share.size) for share, _, _ in each.coming if share.draft not in world.drafts()]
        for owner, held in each.held().items():
            extra = sum(size for name, size in mine if name == owner)
            assert held == Holding(naive[owner].drafts, naive[owner].size + extra)


def test_what_a_process_did_not_live_to_say_is_seen_after_a_while(tmp_path: Path) -> None:
    world = World(tmp_path)
    one, two = world.processes
    one.begin(OWNERS[0])
    assert two.held()[OWNERS[0]].drafts == 1
    with patch.object(DraftChanges, "note", lambda *_: None):
        one.begin(OWNERS[0])
    assert two.held()[OWNERS[0]].drafts == 1
    world.monotonic += 301
    assert two.held()[OWNERS[0]].drafts == 2


@pytest.mark.parametrize("open_drafts", [False, True])
def test_a_draft_costs_the_same_however_many_there_are(tmp_path: Path, open_drafts: bool) -> None:
    """Counted, not timed: what is asked of the disk for one draft more, when there are few and when there are many."""
    world = World(tmp_path)
    own = world.processes[0]
    own.begin(OWNERS[0])  # with the first one all are looked at
    counts = [calls_of_one_more(own)]
    for number in range(30):
        made = DraftRecord(id=new_draft_id(), owner=f"service:{number}", created=Instant(0), description=Description())
        with own.ledger.admit(made.owner, made.id):
            own.files.create(made)
        if not open_drafts:
            own.publish(made.id)
    counts.append(calls_of_one_more(own))
    assert counts[0] == counts[1]


def calls_of_one_more(process: Process) -> Counter[str]:
    process.begin(OWNERS[0])
    counted: Counter[str] = Counter()

    def counting(name: str) -> Any:
        inner = getattr(process.files, name)

        def call(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return inner(*arguments, **options)

        return call

    names = ("ids", "read", "stamp", "sizes", "last_change", "published_ids", "changed_elsewhere")
    with patch.multiple(process.files, **{name: counting(name) for name in names}):
        process.begin(OWNERS[1])
    assert counted
    return counted
