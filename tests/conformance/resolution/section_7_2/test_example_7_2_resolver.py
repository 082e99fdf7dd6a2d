"""R Example 7.2 at the resolver: an Archive is included when its key is right, whether or not it confirms."""

from __future__ import annotations

import pytest

from tests.support.membership_app import MembershipApp, query

SUCCESSFUL = b"status.archive included status.confirmation successful"
UNSUCCESSFUL = b"status.archive included status.confirmation unsuccessful"


@pytest.mark.parametrize(("confirms", "body"), [(True, SUCCESSFUL), (False, UNSUCCESSFUL)])
async def test_the_example_is_answered_byte_for_byte(confirms: bool, body: bytes) -> None:
    resolver = MembershipApp(answers=confirms)
    await resolver.register()
    answer = await resolver.send()
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-length"] == str(len(body))
    assert answer.headers["cache-control"] == "no-store"
    assert resolver.addresses == ["mtc-m21.sid.inpe.br"]
    found = resolver.found()
    assert found is not None
    assert found.inclusion is not None
    assert found.inclusion.confirmed is confirms


async def test_what_the_archive_said_of_itself_is_kept() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    found = resolver.found()
    assert found is not None
    inclusion = found.inclusion
    assert inclusion is not None
    assert (str(inclusion.ip), inclusion.protocol, inclusion.platform_version, inclusion.admin_mail) == (
        "150.163.34.239",
        "HTTP",
        "2014:11.09.02.16.15",
        "banon@dpi.inpe.br",
    )


async def test_pairs_come_in_any_order_and_others_are_ignored() -> None:
    resolver = MembershipApp()
    await resolver.register()
    pairs = [*reversed(query().split("&")), "colour=blue"]
    assert (await resolver.send("&".join(pairs))).body == SUCCESSFUL


@pytest.mark.parametrize("path", ["/j8lnkb5r7w/3fuqhc5", "/J8LNKB5R7W%2F3FUQHC5", "/J8lnkb5r7w/3FUQHC5"])
async def test_the_service_is_known_in_any_case(path: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send(path=path)).body == SUCCESSFUL


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/J8LNKB5R7W/3FUQHC5", ""),
        ("/J8LNKB5R7W/3FUQHC5", "ibiurl.language=pt"),
        ("/J8LNKB5R7W/3FUQHC5:", "servicesubject=inclusionRequest"),
        ("/J8LNKB5R7W/3FUQHC5/", "servicesubject=inclusionRequest"),
        ("/J8LNKB5R7W/3G2EKR5", "servicesubject=inclusionRequest"),
        ("/api/archives", "servicesubject=inclusionRequest"),
    ],
)
def test_without_a_subject_or_at_another_label_it_is_not_asked(path: str, text: str) -> None:
    assert not MembershipApp().is_asked(path, text)


async def test_the_address_may_be_another_at_the_next_inclusion() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    await resolver.send(query(archiveaddress="mtc-m22.sid.inpe.br:8080"))
    assert resolver.addresses == ["mtc-m22.sid.inpe.br:8080"]


async def test_the_protocol_of_the_standard_is_http_and_ours_is_https_too() -> None:  # E22
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send(query(archiveprotocol="HTTPS"))).body == SUCCESSFUL
    assert resolver.called[0].protocol == "HTTPS"
    assert (await resolver.send(query(archiveprotocol="USP"))).status == 400


async def test_either_form_that_was_registered_is_known() -> None:
    rep, ibip = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"
    resolver = MembershipApp()
    await resolver.register(rep, ibip)
    assert (await resolver.send(query(archiveserviceibi=ibip.lower()))).body == SUCCESSFUL
    assert (await resolver.send(query(archiveserviceibi=rep, servicesubject="exclusionRequest"))).status == 200
    assert resolver.addresses == []
