"""Each Archive is asked where it is: in this process with the messages themselves, or over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard
from ibi.resolver.client.gateways import Gateways, LocalArchive
from ibi.standard.errors import IbiError, InvalidMessage
from ibi.standard.label import Label
from ibi.standard.messages import LabelForms, UrlRequest
from ibi.standard.messages.membership import InclusionConfirmationRequest
from ibi.standard.messages.requests import Acknowledgment
from ibi.standard.reply import Answered, Failure
from tests.support.raw_archive import ACKNOWLEDGMENT, REQUEST, SERVICE, answer_of, http, raw_archive
from tests.support.scripted_archives import read

LONG = 60.0
BOTH = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
OWN = ArchiveRef(BOTH, "127.0.0.1:8765")
PAIRS = answer_of(OWN)


class Own:
    """The Archive of this process, by hand."""

    prompt = True
    is_stuck = False

    def __init__(self, says: bytes = PAIRS, max_age: int = 300, *, hears: bool = True, confirms: bytes = b"") -> None:
        self.requests: list[UrlRequest] = []
        self.thanks: list[Acknowledgment] = []
        self.queries: list[str] = []
        self.reported: list[IbiError] = []
        self._says, self._max_age, self._hears, self._confirms = says, max_age, hears, confirms
        self.beside: tuple[bool | None, Label | None, tuple[Label, ...]] = (None, None, ())
        self.archive = LocalArchive(BOTH, self, self.reported.append)

    def answer(self, request: UrlRequest) -> Answered:
        self.requests.append(request)
        return Answered(read(self._says), self._max_age, *self.beside)

    async def answer_slowly(self, request: UrlRequest) -> Answered:
        await asyncio.sleep(LONG if self.is_stuck else 0)
        return self.answer(request)

    async def acknowledge_slowly(self, acknowledgment: Acknowledgment) -> None:
        await asyncio.sleep(0)
        self.acknowledge(acknowledgment)

    def acknowledge(self, acknowledgment: Acknowledgment) -> None:
        self.thanks.append(acknowledgment)
        if not self._hears:
            raise InvalidMessage("x", 0, "it is refused")

    def reply(self, query: str) -> tuple[bytes, int, object]:
        self.queries.append(query)
        return self._confirms, 0, ()


class Failing:
    """One that cannot do anything."""

    def __init__(self, error: Exception, *, prompt: bool = True) -> None:
        self._error, self.prompt = error, prompt

    async def answer_slowly(self, request: UrlRequest) -> Answered:
        raise self._error

    async def acknowledge_slowly(self, acknowledgment: Acknowledgment) -> None:
        raise self._error

    def answer(self, request: UrlRequest) -> Answered:
        raise self._error

    def acknowledge(self, acknowledgment: Acknowledgment) -> None:
        raise self._error

    def reply(self, query: str) -> tuple[bytes, int, object]:
        raise self._error


@pytest.fixture
async def over_http() -> AsyncIterator[ArchiveHttp]:
    archives = ArchiveHttp(AddressGuard())
    yield archives
    await archives.close()


@pytest.mark.parametrize(("own", "reply"), [(Own(), Answered(read(PAIRS), 300)), (Own(b"", 0), Answered(None))])
async def test_the_own_archive_is_asked_with_the_message_itself(own: Own, reply: object) -> None:
    assert await own.archive.ask(OWN, REQUEST, within=LONG) == reply
    assert own.requests == [REQUEST]
    assert own.queries == []


@pytest.mark.parametrize("beside", [(True, None, ()), (False, None, ()), (None, SERVICE, ()), (None, None, (SERVICE,))])
async def test_what_stands_beside_an_answer_is_handed_over(
    beside: tuple[bool | None, Label | None, tuple[Label, ...]],
) -> None:
    own = Own(b"", 0)
    own.beside = beside
    assert await own.archive.ask(OWN, REQUEST, within=LONG) == Answered(None, 0, *beside)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (OSError(28, "No space left on device"), Failure.UNREACHABLE),
        (InvalidMessage("x", 0, "it is refused"), Failure.REFUSED),
    ],
)
async def test_one_that_fails_is_an_archive_that_fails(error: Exception, failure: Failure) -> None:
    reported: list[IbiError] = []
    own = LocalArchive(BOTH, Failing(error), reported.append)
    assert await own.ask(OWN, REQUEST, within=LONG) is failure
    assert not await own.acknowledge(OWN, ACKNOWLEDGMENT)
    assert not own.acknowledge_at_once(ACKNOWLEDGMENT)
    assert not (await own.confirm(OWN)).confirmed
    assert reported == [error] * (3 if isinstance(error, IbiError) else 0)


@pytest.mark.parametrize(
    ("error", "failure"),
    [(OSError(5, "Input/output error"), Failure.UNREACHABLE), (InvalidMessage("x", 0, "no"), Failure.REFUSED)],
)
async def test_a_slow_archive_that_fails_is_an_archive_that_fails(error: Exception, failure: Failure) -> None:
    reported: list[IbiError] = []
    own = LocalArchive(BOTH, Failing(error, prompt=False), reported.append)
    assert await own.ask(OWN, REQUEST, within=LONG) is failure
    assert not await own.acknowledge(OWN, ACKNOWLEDGMENT)
    assert reported == [error] * (2 if isinstance(error, IbiError) else 0)


async def test_an_archive_with_slow_storage_is_waited_for(over_http: ArchiveHttp) -> None:
    own = Own()
    own.prompt = False
    gateways = Gateways([own.archive], over_http)
    assert gateways.at_once(OWN, REQUEST) is None
    assert gateways.acknowledge_at_once(OWN, ACKNOWLEDGMENT) is None
    assert (own.requests, own.thanks) == ([], [])
    assert await gateways.ask(OWN, REQUEST, within=LONG) == Answered(read(PAIRS), 300)
    assert await gateways.acknowledge(OWN, ACKNOWLEDGMENT)
    assert (own.requests, own.thanks) == ([REQUEST], [ACKNOWLEDGMENT])


async def test_an_archive_with_slow_storage_is_not_waited_for_beyond_the_time_there_is() -> None:
    own = Own()
    own.prompt, own.is_stuck = False, True
    assert await own.archive.ask(OWN, REQUEST, within=0.01) is Failure.TIMED_OUT


@pytest.mark.parametrize("hears", [True, False])
async def test_the_own_archive_is_thanked_with_the_message_itself(over_http: ArchiveHttp, hears: bool) -> None:
    own = Own(hears=hears)
    gateways = Gateways([own.archive], over_http)
    assert await own.archive.acknowledge(OWN, ACKNOWLEDGMENT) is hears
    assert gateways.acknowledge_at_once(OWN, ACKNOWLEDGMENT) is hears
    assert own.thanks == [ACKNOWLEDGMENT, ACKNOWLEDGMENT]
    assert len(own.reported) == (0 if hears else 2)
    assert own.queries == []


async def test_no_other_archive_is_thanked_at_once(over_http: ArchiveHttp) -> None:
    own = Own()
    elsewhere = ArchiveRef(LabelForms.of(SERVICE), "elsewhere.example.org")
    assert Gateways([own.archive], over_http).acknowledge_at_once(elsewhere, ACKNOWLEDGMENT) is None
    assert own.thanks == []


@pytest.mark.parametrize(("body", "confirmed"), [(b"confirmation yes", True), (b"", False)])
async def test_the_own_archive_is_called_back(body: bytes, confirmed: bool) -> None:
    own = Own(confirms=body)
    assert (await own.archive.confirm(OWN)).confirmed is confirmed
    assert own.queries == [InclusionConfirmationRequest().to_query()]


@pytest.mark.parametrize("forms", [BOTH, LabelForms(rep=BOTH.rep), LabelForms(ibip=BOTH.ibip)])
async def test_an_archive_is_local_if_its_service_is_by_either_label(over_http: ArchiveHttp, forms: LabelForms) -> None:
    own = Own()
    gateways = Gateways([own.archive], over_http)
    reply = await gateways.ask(ArchiveRef(forms, "elsewhere.example.org"), REQUEST, within=LONG)
    assert reply == Answered(read(PAIRS), 300)
    assert len(own.requests) == 1


@pytest.mark.parametrize(
    ("content", "headers", "beside"),
    [
        (b"", ["IBI-Final: yes"], (True, None, ())),
        (b"", ["IBI-Final: no"], (False, None, ())),
        (b"", ["IBI-Final: no", f"IBI-Transferred-To: {SERVICE}"], (None, SERVICE, ())),
        (b"", ["ibi-final: yes", "IBI-FINAL: yes"], (None, None, ())),
        (b"", [f"IBI-Transferred-To:  {SERVICE} "], (None, SERVICE, ())),
        (b"", [f"IBI-Transferred-To: {SERVICE}", f"IBI-Transferred-To: {SERVICE}"], (None, None, ())),
        (
            PAIRS,
            [f"IBI-Copies: {SERVICE}", f"IBI-Copies: {SERVICE}, {OWN.service.labels[1]}"],
            (None, None, (SERVICE, OWN.service.labels[1])),
        ),
        (PAIRS, ["IBI-Copies: \t", "IBI-Final: yes"], (None, None, ())),
    ],
)
async def test_what_stands_beside_an_answer_over_http_is_read(
    over_http: ArchiveHttp,
    content: bytes,
    headers: list[str],
    beside: tuple[bool | None, Label | None, tuple[Label, ...]],
) -> None:
    async with raw_archive(http(content, *headers)) as archive:
        reply = await over_http.ask(archive.ref(), REQUEST, within=LONG)
    assert isinstance(reply, Answered)
    assert (reply.final, reply.transferred_to, reply.copies_at) == beside


async def test_all_others_are_asked_over_http(over_http: ArchiveHttp) -> None:
    own = Own()
    gateways = Gateways([own.archive], over_http)
    async with raw_archive(http()) as archive:
        assert archive.ref().service == LabelForms.of(SERVICE)
        assert await gateways.ask(archive.ref(), REQUEST, within=LONG) == Answered(None)
        archive.says = http(b"notice {acknowledgment received}")
        assert await gateways.acknowledge(archive.ref(), ACKNOWLEDGMENT)
        archive.says = http(b"confirmation yes")
        assert (await gateways.confirm(archive.ref())).confirmed
        assert len(archive.requests) == 3
        await gateways.close()
    assert (own.requests, own.thanks, own.queries) == ([], [], [])


async def test_thanks_and_calls_to_the_own_archive_stay_in_the_process(over_http: ArchiveHttp) -> None:
    thanked, called = Own(), Own(confirms=b"confirmation yes")
    assert await Gateways([thanked.archive], over_http).acknowledge(OWN, ACKNOWLEDGMENT)
    assert (await Gateways([called.archive], over_http).confirm(OWN)).confirmed
    await thanked.archive.close()
