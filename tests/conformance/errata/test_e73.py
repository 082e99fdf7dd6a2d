"""E73: why an Archive was not reached is put on record, shown, and told to the Archive."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from ibi.membership.model.membership import Membership, Phase
from ibi.membership.model.registration import FailedContact
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack, archive_ref
from ibi.standard.label import parse
from ibi.standard.messages.answers import InclusionStatus
from ibi.standard.messages.identification import LabelForms
from ibi.standard.reply import Answered, Failure
from tests.support.membership_app import REP, MembershipApp, all_facts, public_facts, query

REASONS = [
    (Failure.FORBIDDEN_ADDRESS, "forbidden-address", "`ibi resolver allow-network sid.inpe.br/mtc-m21/"),
    (Failure.BAD_CERTIFICATE, "bad-certificate", "certificate"),
    (Failure.UNKNOWN_NAME, "unknown-name", "name was not found"),
    (Failure.CONNECTION_REFUSED, "connection-refused", "refused"),
    (Failure.TIMED_OUT, "timed-out", "too long"),
]


def resolver_that_fails(failure: Failure) -> MembershipApp:
    async def call(_: ArchiveRef) -> CallBack:
        return CallBack(False, None, failure)

    return MembershipApp(answers=call)


@pytest.mark.parametrize(("failure", "code", "words"), REASONS)
async def test_why_an_archive_did_not_confirm_is_on_record_and_in_a_header(
    failure: Failure, code: str, words: str
) -> None:
    resolver = resolver_that_fails(failure)
    await resolver.register()
    answer = await resolver.send()
    assert answer.body == b"status.archive included status.confirmation unsuccessful"  # as R prints it
    assert answer.headers["ibi-reason"] == code
    found = resolver.found()
    assert found is not None
    for facts in (all_facts(found), public_facts(found)):
        assert isinstance(shown := facts["failure"], dict)
        assert shown["reason"] == code
        assert words in shown["detail"]
        assert shown["at"] == str(resolver.clocks.read().wall)


@pytest.mark.parametrize(("failure", "code", "words"), REASONS)
def test_the_archive_tells_its_administrator_the_reason(failure: Failure, code: str, words: str) -> None:
    after = Membership(Phase.INCLUDING).after(InclusionStatus(confirmed=False, reason=code))
    assert after.phase is Phase.INCLUDED
    assert after.reason is not None
    assert after.reason.startswith("the resolver could not reach it: ")
    assert failure is not Failure.FORBIDDEN_ADDRESS or "`ibi resolver allow-network`" in after.reason


async def test_a_confirmation_ends_the_failure() -> None:
    resolver = resolver_that_fails(Failure.TIMED_OUT)
    await resolver.register()
    await resolver.send()
    resolver.answers = True
    answer = await resolver.send()
    assert "ibi-reason" not in answer.headers
    found = resolver.found()
    assert found is not None
    assert found.failed is None


async def test_a_wrong_key_is_on_record_while_the_archive_is_not_included() -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send(query(registrationkey="9876598765"))).status == 403
    await resolver.settle()
    found = resolver.found()
    assert found is not None
    assert found.failed is not None
    assert found.failed.reason == "wrong-key"
    assert public_facts(found)["failure"] is None
    await resolver.send()
    assert (await resolver.send(query(registrationkey="9876598765"))).status == 403
    await resolver.settle()
    found = resolver.found()
    assert found is not None
    assert found.failed is None  # a guess says nothing of one that is included


async def test_a_question_that_does_not_reach_an_archive_is_on_record_until_one_does() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    registered = resolver.found()
    assert registered is not None
    archive = archive_ref(registered)
    assert archive is not None
    contacts = resolver.admin.contacts
    contacts.note(archive, Failure.CONNECTION_REFUSED)
    contacts.note(archive, Failure.CONNECTION_REFUSED)
    await contacts.close()
    found = resolver.found()
    assert found is not None
    assert found.failed == FailedContact("connection-refused", resolver.clocks.read().wall)
    contacts.note(archive, Answered(None))
    await contacts.close()
    assert resolver.found() == found  # one write in ten seconds
    resolver.seconds += 10
    contacts.note(archive, Answered(None))
    await contacts.close()
    assert resolver.found() == registered


async def test_an_archive_that_is_gone_from_the_register_is_no_error() -> None:
    resolver = MembershipApp()
    ref = ArchiveRef(LabelForms.of(parse(REP)), str(ip_address("150.163.34.239")))
    resolver.admin.contacts.note(ref, Failure.TIMED_OUT)
    await resolver.admin.contacts.close()
    assert resolver.found() is None
