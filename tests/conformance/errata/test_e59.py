"""E59: an Archive tells the other form of its label, and is believed if the call back proves it."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.net.address_guard import AddressGuard
from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, RegistrationKey, RegistrationMail, State, UrlRequest, parse_request
from ibi.standard.messages.url_list import UrlEntry, UrlList
from ibi.standard.reply import Answered, Reply
from ibi.standard.vocabulary import ContentType
from tests.support.loopback_archives import LoopbackArchives, plain
from tests.support.membership_app import MembershipApp, query

FORMS = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
REP, IBIP = (label.spelling for label in FORMS.labels)
assert FORMS.ibip is not None
IP = ip_address(FORMS.ibip.ip)
ELSEWHERE = ip_address("192.0.2.66")
OWN_HOST = "mtc-m19.sid.inpe.br:8765"
SUCCESSFUL = b"status.archive included status.confirmation successful"


def connected_to(ip: object, *, confirmed: bool = True) -> MembershipApp:
    async def answers(_: ArchiveRef) -> CallBack:
        return CallBack(confirmed, ip)  # type: ignore[arg-type]

    return MembershipApp(answers=answers)


def by_rep(**others: str) -> str:
    return query(archiveserviceibi=REP, archiveserviceibip=IBIP, archiveaddress=OWN_HOST, **others)


# --- the pair and the line -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "pair", "other"), [(REP, "archiveserviceibip", IBIP), (IBIP, "archiveservicerep", REP)]
)
def test_the_pair_of_the_other_form_is_read_and_written(named: str, pair: str, other: str) -> None:
    request = parse_request(query(archiveserviceibi=named, **{pair: other}))
    assert f"{pair}={other}" in request.to_query().split("&")
    assert parse_request(request.to_query()) == request


@pytest.mark.parametrize("wrong", ["8JMKD3MGP7W/35MME4E", "sid.inpe.br/mtc-m20/2013/09.04.12.27.57", "x"])
def test_what_cannot_be_the_other_form_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveservice"):
        parse_request(query(archiveserviceibi=REP, archiveserviceibip=wrong))


def test_the_mail_has_a_line_more_and_is_read_back() -> None:
    mail = RegistrationMail(parse(REP), RegistrationKey("7730914258"), parse(IBIP))
    assert mail.body == (
        f"IBI do serviço de Arquivo:\narchiveserviceibi = {REP}\narchiveserviceibip = {IBIP}\n\n"
        "Chave de cadastro:\nregistrationkey = 7730914258\n"
    )
    assert RegistrationMail.parse(mail.body) == mail
    assert RegistrationMail.parse(mail.to_message("a@example.org", "b@example.org")) == mail
    html = f"Content-Type: text/html\n\n<p>{'</p><p>'.join(mail.body.splitlines())}</p>"
    assert RegistrationMail.parse(html) == mail


# --- what is believed ------------------------------------------------------------------------------------------------


async def test_an_ibip_of_the_address_that_was_connected_to_is_believed() -> None:
    resolver = connected_to(IP)
    registered = await resolver.register(REP)
    assert (await resolver.send(by_rep())).body == SUCCESSFUL
    found = resolver.found(IBIP)
    assert found is not None
    assert (found.service, found.waiting, found.registered) == (FORMS, None, registered.registered)


async def test_a_repository_name_of_the_host_that_was_dialled_is_believed_whatever_its_port() -> None:
    resolver = connected_to(ELSEWHERE)
    await resolver.register(IBIP)
    text = query(archiveserviceibi=IBIP, archiveservicerep=REP, archiveaddress=OWN_HOST)
    assert (await resolver.send(text)).body == SUCCESSFUL
    found = resolver.found(REP)
    assert found is not None
    assert found.service == FORMS


async def test_an_archive_registered_by_its_ibip_alone_is_known_by_either_form() -> None:
    resolver = connected_to(ELSEWHERE)
    await resolver.register(IBIP)
    assert (await resolver.send(by_rep())).body == SUCCESSFUL
    assert resolver.found(REP) is not None  # the host proves it
    assert (await resolver.send(by_rep(servicesubject="exclusionRequest"))).body == b"status.archive excluded"
    assert resolver.addresses == []


@pytest.mark.parametrize(
    ("ip", "address", "confirmed"), [(ELSEWHERE, OWN_HOST, True), (None, OWN_HOST, True), (IP, OWN_HOST, False)]
)
async def test_what_the_call_does_not_prove_waits(ip: object, address: str, confirmed: bool) -> None:
    resolver = connected_to(ip, confirmed=confirmed)
    await resolver.register(REP)
    with capture_logs() as logged:
        await resolver.send(by_rep())
    found = resolver.found(REP)
    assert found is not None
    assert (found.service, found.waiting) == (LabelForms.of(parse(REP)), FORMS.ibip)
    assert resolver.found(IBIP) is None
    assert any("waits for `ibi resolver set`" in line["event"] for line in logged) is confirmed


@pytest.mark.parametrize("taken", [IBIP, "8JMKD3MGP7W/35MME4E"])
async def test_a_form_or_prefix_of_another_registration_waits_however_well_it_is_proven(taken: str) -> None:
    resolver = connected_to(IP)
    await resolver.register(REP)
    await resolver.register(taken)
    assert (await resolver.send(by_rep())).body == SUCCESSFUL
    found = resolver.found(REP)
    assert found is not None
    assert (found.service.ibip, found.waiting) == (None, FORMS.ibip)
    other = resolver.found(taken)
    assert other is not None
    assert other.labels == (parse(taken),)


async def test_the_prefix_of_the_servers_own_archive_waits() -> None:
    resolver = MembershipApp(
        own=LabelForms.of(parse("8JMKD3MGP7W/35MME4E")),
        answers=connected_to(IP).answers,
    )
    await resolver.register(REP)
    await resolver.send(by_rep())
    found = resolver.found(REP)
    assert found is not None
    assert found.waiting == FORMS.ibip


async def test_a_label_that_is_known_in_both_forms_takes_no_third() -> None:
    resolver = connected_to(ip_address("150.163.34.240"))
    before = await resolver.register(REP, IBIP)
    other = "8JMKD3MGP8W/3EPGUE5"
    assert (await resolver.send(by_rep().replace(IBIP, other))).status == 200
    found = resolver.found(REP)
    assert found is not None
    assert (found.service, found.waiting) == (before.service, None)


# --- asked for -------------------------------------------------------------------------------------------------------


async def test_an_archive_of_another_make_is_asked_for_the_other_form() -> None:
    asked: list[UrlRequest] = []

    async def ask(archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        asked.append(request)
        return Answered(url_list(archive.address, FORMS))

    resolver = MembershipApp(ask=ask, answers=connected_to(IP).answers)
    await resolver.register(REP)
    plain = query(archiveserviceibi=REP, archiveaddress=OWN_HOST)
    assert (await resolver.send(plain)).body == SUCCESSFUL
    await resolver.settle()
    found = resolver.found(REP)
    assert found is not None
    assert found.service == FORMS
    assert [request.label for request in asked] == [parse(REP)]
    assert (await resolver.send(plain)).body == SUCCESSFUL
    assert len(asked) == 1
    await resolver.admin.close()


LOOPBACK = LabelForms.parse("rep host.example.org/archive/2013/09.04.12.27.57 ibip LK47B6W/3EPGUE5")
"""The IBIp is one of 127.0.0.1."""


def url_list(address: str, forms: LabelForms) -> UrlList:
    url = f"http://{address}/x"
    return UrlList(
        address, forms, None, (UrlEntry(ibi=forms, url=url, content_type=ContentType.DATA, state=State.ORIGINAL),)
    )


@pytest.mark.parametrize(("host", "believed"), [("127.0.0.1", True), ("127.0.0.2", False)])
async def test_over_a_real_connection_the_address_that_was_dialled_proves_an_ibip(host: str, believed: bool) -> None:
    archives = ArchiveHttp(AddressGuard())
    resolver = MembershipApp(answers=archives.confirm, ask=archives.ask)
    named = LOOPBACK.labels[0].spelling
    await resolver.register(named, networks=["127.0.0.0/8"])
    with LoopbackArchives() as sockets:
        archive = sockets.open(
            lambda request: plain(
                b"confirmation yes"
                if b"inclusionConfirmationRequest" in request
                else url_list("host.example.org", LOOPBACK).encode()
            ),
            host=host,
        )
        text = query(archiveserviceibi=named, archiveaddress=f"{host}:{archive.port}")
        assert (await resolver.send(text)).body == SUCCESSFUL
        await resolver.settle()
        await archives.close()
    assert f"parsedibiurl.ibi={named}".encode() in archive.requests[1]
    found = resolver.found(named)
    assert found is not None
    assert (found.service, found.waiting) == (
        (LOOPBACK, None) if believed else (LabelForms(LOOPBACK.rep), LOOPBACK.ibip)
    )
