"""E18 at the resolver: `error {…}` with 403 for an Archive that is not registered or has another key, else 400."""

from __future__ import annotations

import pytest

from tests.support.asgi_client import Answer
from tests.support.membership_app import PAIRS, MembershipApp, query

REFUSED = b"error {No Archive is registered here with this IBI and this key.}"


def is_error(answer: Answer) -> bool:
    return (
        answer.body.startswith(b"error {")
        and answer.body.endswith(b"}")
        and answer.headers["content-type"] == "text/plain"
        and answer.headers["cache-control"] == "no-store"
    )


@pytest.mark.parametrize("subject", ["inclusionRequest", "exclusionRequest"])
@pytest.mark.parametrize(
    "others", [{"registrationkey": "1234567891"}, {"archiveserviceibi": "sid.inpe.br/mtc-m22/2012/06.05.15.34.39"}]
)
async def test_not_registered_and_a_wrong_key_are_one_answer(subject: str, others: dict[str, str]) -> None:
    resolver = MembershipApp()
    registered = await resolver.register()
    answer = await resolver.send(query(servicesubject=subject, **others))
    assert (answer.status, answer.body) == (403, REFUSED)
    assert is_error(answer)
    assert resolver.found() == registered
    assert resolver.called == []


async def test_a_wrong_key_excludes_no_archive() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    before = resolver.found()
    await resolver.send(query(servicesubject="exclusionRequest", registrationkey="9999999999"))
    assert resolver.found() == before


@pytest.mark.parametrize("missing", PAIRS)
async def test_a_missing_pair_is_named(missing: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    text = "&".join(f"{name}={value}" for name, value in PAIRS.items() if name != missing)
    if missing == "servicesubject":
        assert not resolver.is_asked("/J8LNKB5R7W/3FUQHC5", text)
        return
    answer = await resolver.send(text)
    assert answer.status == 400
    assert is_error(answer)
    assert missing.encode() in answer.body


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("archiveaddress", "user@host"),
        ("archiveaddress", "127.1"),
        ("archiveserviceibi", "sid.inpe.br"),
        ("archiveip", "150.163.34"),
        ("archiveprotocol", "GOPHER"),
        ("archiveplatformversion", ""),
        ("archiveplatformversion", "a%20b"),
        ("archiveadmemailaddress", "a@b,c@d"),
        ("registrationkey", "123456789"),
        ("registrationkey", "1234567890x"),
    ],
)
async def test_a_malformed_pair_is_refused(name: str, value: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    answer = await resolver.send(query(**{name: value}))
    assert answer.status == 400
    assert is_error(answer)
    assert resolver.addresses == []


@pytest.mark.parametrize("subject", ["urlRequest", "acknowledgment", "inclusionConfirmationRequest", "dance", ""])
async def test_other_subjects_are_not_for_a_resolver(subject: str) -> None:
    answer = await MembershipApp().send(query(servicesubject=subject))
    assert answer.status == 400
    assert is_error(answer)


@pytest.mark.parametrize("name", PAIRS)
async def test_a_pair_that_is_there_twice_is_refused(name: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    answer = await resolver.send(f"{query()}&{name}={PAIRS[name]}")
    assert answer.status == 400
    assert is_error(answer)


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_every_message_is_a_get(method: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    answer = await resolver.send(method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET")
    assert is_error(answer)
    assert resolver.addresses == []
