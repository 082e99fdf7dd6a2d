"""Each Archive is asked where it is: in this process with the bytes of the protocol, or over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ibi.messages import LabelForms
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.reply import Answered
from ibi.resolver.trace import Failure
from ibi.transport.address_guard import AddressGuard
from ibi.transport.archive_http import ArchiveHttp
from ibi.transport.gateways import Gateways
from ibi.transport.local_archive import LocalArchive
from tests.raw_archive import ACKNOWLEDGMENT, REQUEST, SERVICE, answer_of, http, raw_archive
from tests.scripted_archives import read

LONG = 60.0
BOTH = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
OWN = ArchiveRef(BOTH, "127.0.0.1:8765")
PAIRS = answer_of(OWN)


class Own:
    """The Archive of this process, by hand."""

    def __init__(self, status: int = 200, body: bytes = PAIRS, caching: bytes = b"max-age=300") -> None:
        self.queries: list[bytes] = []
        self._says = status, body, caching
        self.archive = LocalArchive(BOTH, self.answer)

    def answer(self, query: bytes) -> tuple[int, bytes, bytes]:
        self.queries.append(query)
        return self._says


@pytest.fixture
async def over_http() -> AsyncIterator[ArchiveHttp]:
    archives = ArchiveHttp(AddressGuard())
    yield archives
    await archives.close()


@pytest.mark.parametrize(
    ("own", "reply"),
    [
        (Own(), Answered(read(PAIRS), 300)),
        (Own(body=b"", caching=b"no-store"), Answered(None)),
        (Own(status=400, body=b"error {no}"), Failure.REFUSED),
        (Own(status=500, body=b""), Failure.REFUSED),
        (Own(body=b"{{{"), Failure.MALFORMED),
    ],
)
async def test_the_own_archive_is_asked_and_read_like_any_other(own: Own, reply: object) -> None:
    assert await own.archive.ask(OWN, REQUEST, within=LONG) == reply
    assert own.queries == [REQUEST.to_query().encode()]


async def test_one_that_fails_is_an_archive_that_fails() -> None:
    def full(query: bytes) -> tuple[int, bytes, bytes]:
        raise OSError(28, "No space left on device")

    own = LocalArchive(BOTH, full)
    assert await own.ask(OWN, REQUEST, within=LONG) is Failure.UNREACHABLE
    assert not await own.acknowledge(OWN, ACKNOWLEDGMENT)
    assert not await own.confirm(OWN)


@pytest.mark.parametrize(("body", "heard"), [(b"notice {acknowledgment received}", True), (b"", False)])
async def test_it_is_thanked(body: bytes, heard: bool) -> None:
    own = Own(body=body)
    assert await own.archive.acknowledge(OWN, ACKNOWLEDGMENT) is heard
    assert own.queries == [ACKNOWLEDGMENT.to_query().encode()]


@pytest.mark.parametrize(("body", "confirmed"), [(b"confirmation yes", True), (b"", False)])
async def test_it_is_called_back(body: bytes, confirmed: bool) -> None:
    own = Own(body=body)
    assert await own.archive.confirm(OWN) is confirmed
    assert own.queries == [InclusionConfirmationRequest().to_query().encode()]


@pytest.mark.parametrize("forms", [BOTH, LabelForms(rep=BOTH.rep), LabelForms(ibip=BOTH.ibip)])
async def test_an_archive_is_local_if_its_service_is_by_either_label(over_http: ArchiveHttp, forms: LabelForms) -> None:
    own = Own()
    gateways = Gateways([own.archive], over_http)
    reply = await gateways.ask(ArchiveRef(forms, "elsewhere.example.org"), REQUEST, within=LONG)
    assert reply == Answered(read(PAIRS), 300)
    assert len(own.queries) == 1


async def test_all_others_are_asked_over_http(over_http: ArchiveHttp) -> None:
    own = Own()
    gateways = Gateways([own.archive], over_http)
    async with raw_archive(http()) as archive:
        assert archive.ref().service == LabelForms.of(SERVICE)
        assert await gateways.ask(archive.ref(), REQUEST, within=LONG) == Answered(None)
        archive.says = http(b"notice {acknowledgment received}")
        assert await gateways.acknowledge(archive.ref(), ACKNOWLEDGMENT)
        archive.says = http(b"confirmation yes")
        assert await gateways.confirm(archive.ref())
        assert len(archive.requests) == 3
        await gateways.close()
    assert own.queries == []


async def test_thanks_and_calls_to_the_own_archive_stay_in_the_process(over_http: ArchiveHttp) -> None:
    thanked, called = Own(body=b"notice {acknowledgment received}"), Own(body=b"confirmation yes")
    assert await Gateways([thanked.archive], over_http).acknowledge(OWN, ACKNOWLEDGMENT)
    assert await Gateways([called.archive], over_http).confirm(OWN)
    await thanked.archive.close()
