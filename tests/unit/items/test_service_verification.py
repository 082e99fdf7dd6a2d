"""What is kept, verified on a schedule: what is due, in which order, who is told, and what a damaged item takes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from hashlib import sha512
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ibi.items.model.content import Bytes, Damage, Move, Problem, Sent, Verification
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.ports.archive_store import ContentDamaged, UploadDamaged
from ibi.items.rules.errors import UnknownItem
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.stored_item import name_of
from ibi.items.service.verification import DamageMail, VerificationSchedule, damage_letter
from ibi.standard.errors import IbiError
from ibi.standard.label import parse
from ibi.standard.mail import Letter
from tests.support.deposit_samples import CountedLabels, deposits, draft, labels, put
from tests.support.running_jobs import running

DAY = 86_400
NOW = 1_800_000_000


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Post:
    """A mailer that keeps letters, or refuses them."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.refusal: IbiError | None = None

    def send(self, letter: Letter) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.letters.append(letter)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[ArchiveStore]:
    with open_store(tmp_path) as opened:
        assert opened.integrity is not None
        opened.integrity = Integrity(opened.integrity.ledger, clock)
        yield opened


def integrity_of(store: ArchiveStore) -> Integrity:
    assert store.integrity is not None
    return store.integrity


def scheduled(
    store: ArchiveStore, clock: Clock, mail: DamageMail | None = None, days: int = 30
) -> VerificationSchedule:
    return VerificationSchedule(store, days=days, rate=0, mail=mail, now=clock)


def fill(store: ArchiveStore, number: int) -> list[Item]:
    made = deposits(store, CountedLabels())
    return [put(made) for _ in range(number)]


def spoil(tmp_path: Path, item: Item, pattern: str = "v*/content/doc/*") -> tuple[Path, bytes]:
    """Another byte in one file of the item; which, and what it held."""
    file = max((tmp_path / "store" / name_of(item)).glob(pattern))
    before = file.read_bytes()
    file.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    return file, before


def test_all_are_verified_and_then_those_that_have_waited_longest(store: ArchiveStore, clock: Clock) -> None:
    items = fill(store, 3)
    schedule, ledger = scheduled(store, clock), integrity_of(store).ledger
    for _ in items:
        assert schedule.step()
        clock.now += 60
    assert not schedule.step()
    assert (ledger.summary().verified, ledger.summary().oldest) == (3, NOW)
    clock.now = NOW + 30 * DAY + 1
    assert schedule.step()
    assert not schedule.step()
    assert ledger.summary().oldest == NOW + 60


def test_verification_goes_on_where_another_process_ended(tmp_path: Path, store: ArchiveStore, clock: Clock) -> None:
    fill(store, 2)
    assert scheduled(store, clock).step()
    with open_store(tmp_path) as again:
        again.integrity = Integrity(integrity_of(again).ledger, clock)
        schedule = scheduled(again, clock)
        assert schedule.step()
        assert not schedule.step()


def test_none_is_verified_where_that_is_switched_off(store: ArchiveStore, clock: Clock) -> None:
    fill(store, 1)
    assert not scheduled(store, clock, days=0).step()


def test_damage_is_told_once_and_looked_at_again_after_an_hour(
    tmp_path: Path, store: ArchiveStore, clock: Clock
) -> None:
    (item,) = fill(store, 1)
    file, before = spoil(tmp_path, item)
    schedule = scheduled(store, clock)
    with capture_logs() as logs:
        assert schedule.step()
        assert not schedule.step()
        clock.now += 3601
        assert schedule.step()
    told = [each for each in logs if each["event"] == "kept content is damaged"]
    assert [(each["item"], each["log_level"]) for each in told] == [(name_of(item), "error")]
    assert integrity_of(store).is_damaged(name_of(item))
    file.write_bytes(before)
    clock.now += 3601
    assert schedule.step()
    assert not integrity_of(store).is_damaged(name_of(item))


def test_one_letter_a_day_and_only_about_what_is_new(tmp_path: Path, store: ArchiveStore, clock: Clock) -> None:
    first, second, third = fill(store, 3)
    post = Post()
    mail = DamageMail(post, "ana@lab.br", "http://arq.lab.br")
    schedule = scheduled(store, clock, mail)
    while schedule.step():
        pass
    assert post.letters == []
    spoil(tmp_path, first)
    clock.now += 31 * DAY
    while schedule.step():
        pass
    assert [letter.subject for letter in post.letters] == ["1 item damaged: http://arq.lab.br"]
    assert name_of(first) in post.letters[0].text
    clock.now += 5 * DAY
    schedule.step()
    assert len(post.letters) == 1  # of nothing new
    schedule = scheduled(store, clock, mail, days=0)  # letters are sent all the same
    for item in (second, third):
        integrity_of(store).note(name_of(item), Problem(Damage.DAMAGED, "E092", "a", "wrong", "0" * 128))
        schedule.step()
        clock.now += 60
    assert [letter.subject for letter in post.letters[1:]] == ["2 items damaged: http://arq.lab.br"]
    clock.now += DAY
    schedule.step()
    assert [letter.subject for letter in post.letters[2:]] == ["3 items damaged: http://arq.lab.br"]


def test_a_letter_that_cannot_be_sent_is_tried_again(store: ArchiveStore, clock: Clock) -> None:
    post = Post()
    post.refusal = UnknownItem(label="x")
    schedule = scheduled(store, clock, DamageMail(post, "ana@lab.br", "http://arq.lab.br"), days=0)
    integrity_of(store).note("a", Problem(Damage.DAMAGED, "E092", "a", "wrong"))
    with capture_logs() as logs:
        schedule.step()
        schedule.step()
    assert [each["log_level"] for each in logs if "mail" in each["event"]] == ["warning"]
    post.refusal = None
    clock.now += 3601
    schedule.step()
    assert len(post.letters) == 1


def test_a_letter_names_what_is_damaged_on_lines_of_its_own() -> None:
    problem = Problem(Damage.DAMAGED, "E092", "doc/a\nBcc: x@y.br", "wrong")
    many = [Verification(f"a/{number}", 1, 2, (problem,) * 7) for number in range(60)]
    letter = damage_letter("ana@lab.br", "http://arq.lab.br", many)
    assert "\nBcc" not in letter.text
    assert "and 10 more, named by" in letter.text
    assert "and 2 more" in letter.text


async def test_a_server_verifies_beside_its_work_and_stops_at_once(store: ArchiveStore, clock: Clock) -> None:
    fill(store, 3)
    schedule = scheduled(store, clock)

    def wait() -> None:
        while integrity_of(store).summary().verified < 3:
            pass

    async with running(*schedule.jobs()):
        await asyncio.to_thread(wait)


async def test_a_long_verification_is_broken_off_when_the_server_stops(store: ArchiveStore, clock: Clock) -> None:
    fill(store, 1)
    schedule = VerificationSchedule(store, days=30, rate=1, now=clock)  # a byte a second
    with capture_logs() as logs:
        async with running(*schedule.jobs()):
            while not schedule._is_verifying:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(0.001)
    assert logs == []
    assert integrity_of(store).summary().verified == 0


# --- what a damaged item takes ---------------------------------------------------------------------------------------


async def test_the_event_loop_is_watched_only_during_a_verification(store: ArchiveStore, clock: Clock) -> None:
    schedule = scheduled(store, clock)
    assert await schedule._look_at_load() == math.inf
    schedule._is_verifying = True
    assert await schedule._look_at_load() == 0.0


def test_a_damaged_item_takes_no_change_but_its_end(tmp_path: Path, store: ArchiveStore) -> None:
    item, other = fill(store, 2)
    made = deposits(store, CountedLabels(10))
    file, before = spoil(tmp_path, item)
    assert not all(not each.problems for each in store.verify([item.rep]))
    with pytest.raises(ContentDamaged, match=f"ibi verify {name_of(item)}"):
        made.update(item.rep, draft("a.txt"), {"a.txt": Bytes(b"new")}, "Ana")
    with pytest.raises(ContentDamaged):
        made.delete(item.rep, "why", "Ana")
    with pytest.raises(ContentDamaged):
        made.change({other.rep: lambda now: now, item.rep: lambda now: now}, "Ana", "x")
    with pytest.raises(ContentDamaged):
        put(made, edition_of=item.labels)
    assert store.catalog.find(labels(10).labels[0]) is None
    file.write_bytes(before)
    assert not any(each.problems for each in store.verify([item.rep]))
    assert put(made, edition_of=item.labels).edition_of == item.labels
    spoil(tmp_path, item)
    assert any(each.problems for each in store.verify([item.rep]))
    made.delete(item.rep, "why", "Ana", purge=True)
    assert not any(each.problems for each in store.verify([item.rep]))


def test_bytes_that_come_again_are_not_dropped_for_damaged_ones(tmp_path: Path, store: ArchiveStore) -> None:
    """Content that is kept already is kept once: what came again is dropped only if the other is right."""
    (item,) = fill(store, 1)
    file, before = spoil(tmp_path, item)
    again = {"b.txt": Bytes(before)}
    with pytest.raises(ContentDamaged):
        deposits(store).update(item.rep, draft("b.txt"), again, "Ana")
    assert store.read(name_of(item)).head == 1
    file.write_bytes(before)
    assert deposits(store).update(item.rep, draft("b.txt"), again, "Ana").item.version == 2


def test_an_upload_that_the_disk_has_changed_is_not_published(tmp_path: Path, store: ArchiveStore) -> None:
    sent, place = b"as it was sent", tmp_path / "upload"
    upload = Move(str(place), Sent("a.txt", sha512(sent).hexdigest()))
    place.write_bytes(b"as it was senT")
    with pytest.raises(UploadDamaged, match=r"a\.txt"):
        deposits(store).deposit(draft("a.txt"), {"a.txt": upload}, "Ana")
    assert (place.exists(), list(store.content.iterate())) == (True, [])
    place.write_bytes(sent)
    item = deposits(store).deposit(draft("a.txt"), {"a.txt": upload}, "Ana")
    assert item.files[0].sha512 == sha512(sent).hexdigest()


def test_a_damaged_record_is_read_by_no_one(tmp_path: Path, store: ArchiveStore) -> None:
    (item,) = fill(store, 1)
    for pattern in ("v*/content/item.json", "v*/content/local.json"):
        file, before = spoil(tmp_path, item, pattern)
        with pytest.raises(ContentDamaged):
            store.read(name_of(item))
        assert integrity_of(store).is_damaged(name_of(item))
        file.write_bytes(before)
        assert not any(each.problems for each in store.verify([item.rep]))


def test_an_item_that_the_catalogue_lost_to_damage_is_not_unknown(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        item, other = fill(store, 2)
    file, before = spoil(tmp_path, item, "v*/content/item.json")
    (tmp_path / CATALOGUE).unlink()
    with open_store(tmp_path) as store:
        for label in item.labels.labels:
            with pytest.raises(ContentDamaged):
                store.find(label)
        assert store.find(other.rep) == other
        with pytest.raises(UnknownItem):
            store.find(parse(str(labels(50).rep)))
        file.write_bytes(before)
        assert not any(each.problems for each in store.verify(item.labels.labels))
        assert store.find(item.labels.labels[1]) == item


def test_an_item_that_is_wanted_comes_first_and_once_for_each_wish_also_where_nothing_is_scheduled(
    store: ArchiveStore, clock: Clock
) -> None:
    names = [name_of(item) for item in fill(store, 2)]
    schedule, ledger = scheduled(store, clock, days=0), integrity_of(store).ledger
    assert not schedule.step()
    for _ in range(2):
        schedule.verify_soon(names[1])
        assert ledger.wanted() == ((names[1], NOW),)
        assert schedule.step()
        assert ledger.latest(5) == (Verification(names[1], NOW),)
    assert not schedule.step()
