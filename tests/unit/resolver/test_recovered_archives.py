"""Archives of a recovered register: admitted by their signature, they bring their registration key again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.membership.model.registration import Registration, RemovedArchive
from ibi.membership.rules.archive_keys import SignaturePolicy
from ibi.membership.rules.authority import ArchiveRef, Home
from ibi.membership.rules.register_recovery import recovered_registrations
from ibi.membership.rules.signed_register import (
    ListedArchive,
    OfferedRegister,
    read_register,
    register_entries,
    sign_register,
)
from ibi.membership.service.registration_admin import Application
from ibi.membership.store.key_files import PublishedRegisterFile
from ibi.people.store.audit_log import FileAuditLog
from ibi.resolver.service.register_recovery import EntryOutcome, RegisterRecovery
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms, RegistrationKey
from ibi.standard.signing import SigningKey
from tests.support.asgi_client import Answer
from tests.support.membership_app import REP, MembershipApp, query
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.keys import MemoryKeyStore
from tests.support.memory.registry import MemoryRegistry
from tests.support.signing_member import SigningMember, seed

INCLUDED = b"status.archive included status.confirmation successful"
RESOLVER = SigningKey(b"r" * 32)
SERVICE = LabelForms.of(parse(REP))


def register_text(key: SigningKey | None, issued: int = 100) -> str:
    home = Home(SERVICE, ArchiveRef(SERVICE, "mtc-m21.sid.inpe.br"))
    listed = ListedArchive(home, frozenset(), 7, None if key is None else key.public)
    return sign_register(register_entries([listed]), "http://urlib.net", issued, RESOLVER)


def recovered(key: SigningKey | None, **others: object) -> MembershipApp:
    """A resolver that has recovered the entry of one Archive."""
    resolver = MembershipApp(keys=MemoryKeyStore(b"n" * 32), **others)  # type: ignore[arg-type]
    (registration,) = recovered_registrations(read_register(register_text(key)), resolver.clocks.read().wall)
    resolver.registry.add(registration)
    return resolver


def found_in(resolver: MembershipApp) -> Registration:
    found = resolver.found()
    assert found is not None
    return found


def is_refused(answer: Answer) -> bool:
    return answer.status == 403


async def test_an_archive_brings_its_registration_key_with_a_signed_inclusion() -> None:
    member = SigningMember()
    resolver = recovered(member.key)
    assert (await resolver.send(member.query())).body == INCLUDED
    found = found_in(resolver)
    assert not found.awaits_key
    assert found.inclusion is not None
    assert found.inclusion.admin_mail == "banon@dpi.inpe.br"
    # From then on the key is known as ever.
    assert (await resolver.send(member.query())).body == INCLUDED
    assert is_refused(await resolver.send(member.query(registrationkey="9999999999")))


@pytest.mark.parametrize("policy", SignaturePolicy)
async def test_nobody_else_gives_it_a_registration_key(policy: SignaturePolicy) -> None:
    member, stranger = SigningMember(), SigningMember(seed("f"))
    resolver = recovered(member.key, policy=policy)
    for request in (query(), stranger.query(), stranger.query("exclusionRequest")):
        assert is_refused(await resolver.send(request))
        found = found_in(resolver)
        assert found.awaits_key
        assert found.inclusion is not None


async def test_signatures_that_are_not_looked_at_admit_no_one() -> None:
    member = SigningMember()
    resolver = recovered(member.key, policy=SignaturePolicy.LEGACY)
    assert is_refused(await resolver.send(member.query()))
    assert found_in(resolver).awaits_key


async def test_two_first_requests_at_once_give_it_one_key() -> None:
    member = SigningMember()
    resolver = recovered(member.key)
    first, second = await asyncio.gather(
        resolver.send(member.query()), resolver.send(member.query(registrationkey="5550001234"))
    )
    assert INCLUDED in {first.body, second.body}
    assert not found_in(resolver).awaits_key


async def test_an_archive_without_a_public_key_needs_its_mail_again_and_is_asked_meanwhile() -> None:
    resolver = recovered(None)
    assert found_in(resolver).inclusion is not None
    assert is_refused(await resolver.send(query()))
    assert is_refused(await resolver.send(SigningMember().query()))
    await resolver.admin.register(Application(SERVICE, RegistrationKey("1234567890")), allow_weak_key=True)
    assert (await resolver.send(query())).body == INCLUDED
    assert found_in(resolver).registered.seconds == 7


# --- the recovery as a whole ------------------------------------------------------------------------------------------


class Recovering:
    """A recovery on stores in memory."""

    def __init__(self, folder: Path) -> None:
        self.registry, self.beliefs, self.published = MemoryRegistry(), MemoryBeliefs(), PublishedRegisterFile(folder)
        self.audit = FileAuditLog(folder)
        self.recovery = RegisterRecovery(self.registry, self.beliefs, self.published, self.audit)

    def recover(self, *texts: str, dry_run: bool = False, former: str | None = None) -> list[EntryOutcome]:
        statements = {f"https://{number}.example": text for number, text in enumerate(texts)}

        def ask(url: str) -> OfferedRegister:
            return OfferedRegister(url, statements[url], former=former)

        done = self.recovery.recover(statements, ask, RESOLVER.public, Instant(2000), dry_run=dry_run)
        self.reasons = [each.reason for each in done.entries]
        return [each.outcome for each in done.entries]


@pytest.fixture
def recovering(tmp_path: Path) -> Iterator[Recovering]:
    made = Recovering(tmp_path)
    yield made
    made.audit.close()


def test_a_dry_run_changes_nothing(recovering: Recovering) -> None:
    assert recovering.recover(register_text(seed("a")), dry_run=True) == [EntryOutcome.RECOVERED]
    assert recovering.registry.all() == ()


def test_what_is_registered_stays_as_it_is_and_a_second_recovery_changes_nothing(recovering: Recovering) -> None:
    assert recovering.recover(register_text(seed("a"))) == [EntryOutcome.RECOVERED]
    (first,) = recovering.registry.all()
    recovering.registry.change(first.labels[0], lambda found: replace(found, key_hash="known", vouched=True))
    assert recovering.recover(register_text(seed("f"), issued=900)) == [EntryOutcome.KNOWN]
    (second,) = recovering.registry.all()
    assert (second.key, second.key_hash, second.vouched) == (seed("a").public, "known", True)


def test_archives_that_the_newest_register_lost_come_back_from_one_before(recovering: Recovering) -> None:
    shortened = sign_register([], "http://urlib.net", 900, RESOLVER)
    assert recovering.recover(shortened, former=register_text(seed("a"))) == [EntryOutcome.RECOVERED]
    assert recovering.reasons == ["the newest register lacks it, and that of 1970-01-01T00:01:40Z lists it"]
    (found,) = recovering.registry.all()
    assert found.service == SERVICE


def test_archives_that_were_removed_do_not_come_back(recovering: Recovering) -> None:
    removed = [RemovedArchive(SERVICE, 800)]
    shortened = sign_register([], "http://urlib.net", 900, RESOLVER, removed=removed)
    assert recovering.recover(shortened, register_text(seed("a")), former=register_text(seed("a"))) == []


def test_what_cannot_come_back_is_said_to_be_removed(recovering: Recovering) -> None:
    other = Registration(LabelForms.of(parse("sid.inpe.br/other/2012/06.05.15.34.40")), "known", Instant(1))
    recovering.registry.add(replace(other, prefixes=frozenset({"sid.inpe.br/mtc-m21"})))
    recovering.recover(register_text(seed("a")))
    assert recovering.published.removed() == (RemovedArchive(SERVICE, 2000),)


def test_an_archive_without_a_key_is_listed_as_one_that_needs_its_mail(recovering: Recovering) -> None:
    assert recovering.recover(register_text(None)) == [EntryOutcome.NEEDS_MAIL]


def test_the_next_list_of_the_resolver_is_later_than_the_one_that_was_recovered(recovering: Recovering) -> None:
    recovering.recover(register_text(seed("a"), issued=5_000_000_000))
    before: list[str | None] = []

    def look(found: str | None) -> str:
        before.append(found)
        return found or ""

    recovering.published.change(look)
    assert read_register(before[0] or "").issued == 5_000_000_000


def test_a_prefix_that_another_archive_has_by_now_is_not_taken_from_it(recovering: Recovering) -> None:
    other = Registration(LabelForms.of(parse("sid.inpe.br/other/2012/06.05.15.34.40")), "known", Instant(1))
    recovering.registry.add(replace(other, prefixes=frozenset({"sid.inpe.br/mtc-m21"})))
    assert recovering.recover(register_text(seed("a"))) == [EntryOutcome.REFUSED]


def test_whom_a_home_named_for_its_copies_is_known_again_until_it_says_so_itself(recovering: Recovering) -> None:
    holder = parse("other.br/arq/2009/07.21.14.43")
    home = Home(SERVICE, ArchiveRef(SERVICE, "mtc-m21.sid.inpe.br"), copies=frozenset({CopyHolder(holder)}))
    listed = ListedArchive(home, frozenset(), 7, seed("a").public)
    recovering.recover(sign_register(register_entries([listed]), "http://urlib.net", 100, RESOLVER))
    assert recovering.beliefs.copies(SERVICE.labels[0]).services == {holder}
    assert not recovering.beliefs.copies(SERVICE.labels[0]).is_signed
