"""An Archive whose storage is slow answers what a prompt one answers, and keeps it as long; no event loop waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import ArchiveAnswers, ArchiveInDoubt, OriginalAwaited, WireAnswer
from ibi.items.service.change_watch import ChangeWatch
from ibi.standard.errors import InvalidMessage
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.messages.requests import Acknowledgment, UrlRequest, parse_request
from ibi.standard.messages.url_list import UrlList
from ibi.standard.vocabulary import ContentType, State
from ibi.usage.store import MemoryUsageLog
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, SERVICE, deleted, kept
from tests.support.flat_items import replace
from tests.support.memory.catalog import MemoryCatalog
from tests.support.set_clocks import SetClocks
from tests.support.slow_storage import SlowStorage
from tests.unit.archive.test_service import url_request

GONE = "lab.br/arq/2009/07.21.14.44"
PROFILE = ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE))


class Record:
    """The port `GivenOut`: all is certain."""

    prompt = True

    def is_final(self, _label: Label) -> bool:
        return True


class Archive:
    def __init__(self, *, is_slow: bool) -> None:
        self.is_silent, self.awaited = False, set[Label]()
        self.storage, self.catalog, self.usage = SlowStorage(0.0), MemoryCatalog(), MemoryUsageLog()
        for item, _ in (kept(REP, IBIP), deleted(GONE)):
            self.catalog.put(item)
        self.asked = self.storage.slow(self.catalog) if is_slow else self.catalog
        self.answers = ArchiveAnswers(
            PROFILE,
            self.asked,
            UrlKeys(b"s" * 32),
            SetClocks(NOW),
            watch=ChangeWatch(self.asked, self.asked.recent_version),
            given_out=self.storage.slow(Record()) if is_slow else Record(),
            usage=self.usage,
            doubts=self,
        )

    def is_awaited(self, labels: Iterable[Label], given_to: Label | None) -> bool:
        return not self.awaited.isdisjoint(labels)

    async def reply(self, query: str) -> WireAnswer:
        made = self.answers.reply(query) if self.answers.prompt else await self.answers.reply_slowly(query)
        assert self.storage.on_loop == []
        return made


def query(ibi: str, more: str = "") -> str:
    return url_request(ibi=ibi).partition("?")[2] + more


def without_key(answer: WireAnswer) -> tuple[bytes, int, object]:
    body = b"\n".join(line for line in answer.body.split(b"\n") if b"urlkey" not in line)
    return body, answer.max_age, answer.fields


@pytest.mark.parametrize("ibi", [REP, IBIP, OTHER, GONE])
async def test_the_answers_are_the_same_and_are_kept(ibi: str) -> None:
    prompt, slow = Archive(is_slow=False), Archive(is_slow=True)
    assert (prompt.answers.prompt, slow.answers.prompt) == (True, False)
    for _ in range(3):
        assert without_key(await slow.reply(query(ibi))) == without_key(await prompt.reply(query(ibi)))
    request = parse_request(query(ibi))
    assert isinstance(request, UrlRequest)
    one, other = prompt.answers.answer(request), await slow.answers.answer_slowly(request)
    assert (one.max_age, one.final, one.transferred_to) == (other.max_age, other.final, other.transferred_to)
    assert type(one.answer) is type(other.answer)


async def test_what_is_kept_needs_no_storage() -> None:
    slow = Archive(is_slow=True)
    await slow.reply(query(REP))
    slow.storage.hold()
    try:
        assert (await asyncio.wait_for(slow.reply(query(REP)), 10)).body
    finally:
        slow.storage.let_go()


async def test_a_change_is_answered_at_once() -> None:
    slow = Archive(is_slow=True)
    assert (await slow.reply(query(REP))).body
    slow.catalog.remove(parse(REP))
    assert not (await slow.reply(query(REP))).body


async def test_what_was_read_before_a_change_is_not_kept() -> None:
    slow = Archive(is_slow=True)
    slow.storage.hold()
    reading = asyncio.create_task(slow.reply(query(REP)))
    await asyncio.sleep(0.05)
    item = slow.catalog.find(parse(REP))
    assert item is not None
    slow.catalog.put(replace(item, target=None))
    slow.storage.let_go()
    await reading
    fresh = Archive(is_slow=False)
    fresh.catalog.put(replace(item, target=None))
    assert without_key(await slow.reply(query(REP))) == without_key(await fresh.reply(query(REP)))


async def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(InvalidMessage):
        await Archive(is_slow=True).reply("servicesubject=what")


async def test_acknowledgments_count_once() -> None:
    slow = Archive(is_slow=True)
    request = parse_request(query(REP))
    assert isinstance(request, UrlRequest)
    told = (await slow.answers.answer_slowly(request)).answer
    assert isinstance(told, UrlList)
    assert told.url_key is not None
    thanks = Acknowledgment(
        request.client_addresses, ContentType.DATA, f"{BASE}/x", f"{BASE}/{REP}", told.url_key, State.ORIGINAL
    )
    for _ in range(2):
        await slow.answers.acknowledge_slowly(thanks)
    assert [usage.resolutions for _, usage in slow.usage.totals()] == [1]
    assert slow.storage.on_loop == []


@pytest.mark.parametrize("is_slow", [False, True])
async def test_an_archive_that_comes_into_doubt_gives_no_answer_that_it_has_kept(*, is_slow: bool) -> None:
    archive = Archive(is_slow=is_slow)
    before = await archive.reply(query(REP))
    archive.is_silent = True
    with pytest.raises(ArchiveInDoubt):
        await archive.reply(query(REP))
    archive.is_silent = False
    assert without_key(await archive.reply(query(REP))) == without_key(before)


@pytest.mark.parametrize("is_slow", [False, True])
async def test_an_archive_to_which_an_original_belongs_gives_no_answer_without_it(*, is_slow: bool) -> None:
    archive = Archive(is_slow=is_slow)
    assert not (await archive.reply(query(OTHER))).body
    item = archive.catalog.find(parse(REP))
    assert item is not None
    archive.awaited = {parse(OTHER), parse(REP)}
    assert (await archive.reply(query(REP))).body  # it came back a moment ago
    archive.catalog.put(replace(item, state=State.COPY))
    for label in (OTHER, REP, IBIP):
        with pytest.raises(OriginalAwaited):
            await archive.reply(query(label))
    request = parse_request(query(OTHER))
    assert isinstance(request, UrlRequest)
    with pytest.raises(OriginalAwaited):
        await archive.answers.answer_slowly(request)
    assert OriginalAwaited(label=OTHER).kind.status == 503
    archive.awaited = set()
    assert not (await archive.reply(query(OTHER))).body
    assert (await archive.reply(query(REP))).body
