"""The register of a resolver."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ibi.membership.model.registration import FailedContact, Registration
from ibi.membership.rules.authority import ArchiveRef, Home
from ibi.membership.rules.membership import (
    AlreadyRegistered,
    KeyRefused,
    PrefixTaken,
    RegistrationChange,
    UnknownArchive,
    WeakKey,
    after_exclusion,
)
from ibi.membership.service.mails import post, sender_of
from ibi.membership.service.registration_admin import Application
from ibi.membership.store.registry import SqliteRegistry
from ibi.net.smtp import MailNotSent
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.mail import Letter
from ibi.standard.networks import network
from tests.support.membership_app import REP, MembershipApp, Post, all_facts, public_facts, query

KEY = "7730914258"
APPLICATION = Application.of_words([REP], KEY)


# --- registering -----------------------------------------------------------------------------------------------------


async def test_a_weak_key_is_refused_unless_it_is_allowed() -> None:
    resolver = MembershipApp()
    weak = Application.of_words([REP], "1234567890")
    with pytest.raises(WeakKey):
        await resolver.admin.register(weak)
    assert resolver.found() is None
    await resolver.admin.register(weak, allow_weak_key=True)
    assert resolver.found() is not None


async def test_an_archive_is_registered_once() -> None:
    resolver = MembershipApp()
    first = (await resolver.admin.register(APPLICATION)).registration
    with pytest.raises(AlreadyRegistered):
        await resolver.admin.register(Application.of_words([REP], "5985125171"))
    assert resolver.found() == first


async def test_a_new_key_leaves_the_rest_and_ends_the_old_one() -> None:
    resolver = MembershipApp()
    await resolver.register(key=KEY, hosts=["cdn.example.org"], networks=["10.0.0.0/8"], admin_mail="a@example.org")
    assert (await resolver.send(query(registrationkey=KEY))).status == 200
    wanted = Application.of_words([REP], "5985125171", hosts=["files.example.org"])
    after = (await resolver.admin.register(wanted, replace_key=True)).registration
    assert after.hosts == {"cdn.example.org", "files.example.org"}
    assert (after.networks, after.admin_mail) == ((network("10.0.0.0/8"),), "a@example.org")
    assert resolver.addresses == ["mtc-m21.sid.inpe.br"]
    assert (await resolver.send(query(registrationkey=KEY))).status == 403
    assert (await resolver.send(query(registrationkey="5985125171"))).status == 200


async def test_there_has_to_be_one_to_give_a_new_key_to() -> None:
    with pytest.raises(UnknownArchive):
        await MembershipApp().admin.register(APPLICATION, replace_key=True)


@pytest.mark.parametrize(
    "others",
    [
        {"labels": []},
        {"labels": ["sid.inpe.br"]},
        {"labels": [REP, REP]},
        {"labels": [REP, "8JMKD3MGP7W/3EPGUE5"]},
        {"key": "12345"},
        {"admin_mail": "a@b, c@d"},
        {"hosts": ["http://cdn.example.org"]},
        {"hosts": [f"h{number}.example.org" for number in range(65)]},
        {"networks": ["10.0.0.1/8"]},
        {"networks": [f"10.{number}.0.0/16" for number in range(65)]},
    ],
)
async def test_what_cannot_be_put_on_record_is_refused(others: dict[str, object]) -> None:
    resolver = MembershipApp()
    given = {"labels": [REP], "key": KEY, **others}
    with pytest.raises(InvalidInput) as refused:
        await resolver.admin.register(Application.of_words(**given))  # type: ignore[arg-type]
    assert "12345" not in str(refused.value)
    assert resolver.registry.all() == ()


async def test_networks_are_allowed_and_no_longer() -> None:
    resolver = MembershipApp()
    await resolver.register(networks=["10.0.0.0/8"])
    label = parse(REP)
    both = await resolver.admin.allow_networks(label, [network("192.168.0.0/16"), network("10.0.0.0/8")])
    assert list(map(str, both.networks)) == ["10.0.0.0/8", "192.168.0.0/16"]
    one = await resolver.admin.allow_networks(label, remove=[network("10.0.0.0/8"), network("172.16.0.0/12")])
    assert list(map(str, one.networks)) == ["192.168.0.0/16"]
    with pytest.raises(UnknownArchive):
        await resolver.admin.allow_networks(parse("a.br/b/2012/06.05.15.34"), [network("10.0.0.0/8")])


async def test_what_is_forgotten_can_no_longer_be_included() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    assert (await resolver.admin.forget(parse(REP))).inclusion is not None
    assert resolver.addresses == []
    assert (await resolver.send()).status == 403
    with pytest.raises(UnknownArchive):
        await resolver.admin.forget(parse(REP))
    with pytest.raises(UnknownArchive):
        await resolver.admin.find(parse(REP))


# --- changes by hand -------------------------------------------------------------------------------------------------

OTHER = "dpi.inpe.br/banon/1999/01.09.22.14"
BOTH = ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5")


def change(**words: object) -> RegistrationChange:
    return RegistrationChange.of_words(**words)  # type: ignore[arg-type]


async def test_everything_of_a_registration_is_changed_but_its_key_its_date_and_its_inclusion() -> None:
    resolver = MembershipApp()
    await resolver.register(BOTH[0], hosts=["old.example.org"], networks=["10.0.0.0/8"])
    await resolver.register(OTHER)
    await resolver.send(query(archiveserviceibi=BOTH[0], archiveaddress="mtc-m19.sid.inpe.br"))
    before = resolver.found(BOTH[0])
    assert before is not None
    resolver.clocks.advance(1000)
    after = await resolver.admin.set(
        parse(BOTH[0]),
        change(
            label=BOTH[1],
            add_prefixes=["SID.inpe.br/mtc-m18@80"],
            vouched=True,
            shared=True,
            successor=OTHER,
            add_hosts=["CDN.example.org"],
            remove_hosts=["old.example.org"],
            allow=["192.168.0.0/16"],
            disallow=["10.0.0.0/8"],
            admin_mail="ana@example.org",
        ),
    )
    assert after == resolver.found(BOTH[1])
    assert (after.key_hash, after.registered, after.inclusion) == (before.key_hash, before.registered, before.inclusion)
    facts = all_facts(after)
    assert (facts["rep"], facts["ibip"], facts["prefixes"], facts["successor"]) == (
        *BOTH,
        ["sid.inpe.br/mtc-m18"],
        OTHER,
    )
    assert (facts["vouched"], facts["shared"], facts["hosts"], facts["networks"], facts["admin_mail"]) == (
        True,
        True,
        ["cdn.example.org"],
        ["192.168.0.0/16"],
        "ana@example.org",
    )
    undone = await resolver.admin.set(
        parse(BOTH[1]),
        change(remove_prefixes=["sid.inpe.br/mtc-m18"], vouched=False, shared=False, no_successor=True),
    )
    assert (undone.prefixes, undone.vouched, undone.shared, undone.successor) == (frozenset(), False, False, None)
    assert undone.labels == after.labels


async def test_a_form_that_waits_is_confirmed_by_hand() -> None:
    resolver = MembershipApp()
    await resolver.register(BOTH[0])
    await resolver.send(query(archiveserviceibi=BOTH[0], archiveserviceibip=BOTH[1]))
    waiting = resolver.found(BOTH[0])
    assert waiting is not None
    assert str(waiting.waiting) == BOTH[1]
    after = await resolver.admin.set(parse(BOTH[0]), change(label=BOTH[1]))
    assert (after.waiting, [label.spelling for label in after.labels]) == (None, [*BOTH])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"label": "8JMKD3MGP7W/35MME4E"}, InvalidInput),
        ({"label": "sid.inpe.br/mtc-m20/2013/09.04.12.27.57"}, InvalidInput),
        ({"label": "x"}, InvalidInput),
        ({"add_prefixes": ["x"]}, InvalidInput),
        ({"add_prefixes": ["dpi.inpe.br/banon.80"]}, PrefixTaken),
        ({"successor": BOTH[0]}, InvalidInput),
        ({"successor": "a.br/b/2012/06.05.15.34"}, UnknownArchive),
        ({"successor": OTHER, "no_successor": True}, InvalidInput),
        ({"add_hosts": ["a b"]}, InvalidInput),
        ({"allow": ["10.0.0.1/8"]}, InvalidInput),
        ({"admin_mail": "x"}, InvalidInput),
        ({"add_prefixes": [f"example.org/a{number}" for number in range(65)]}, InvalidInput),
    ],
)
async def test_what_cannot_be_changed_changes_nothing(words: dict[str, object], error: type[Exception]) -> None:
    resolver = MembershipApp()
    before = await resolver.register(BOTH[0])
    await resolver.register(OTHER)
    with pytest.raises(error):
        await resolver.admin.set(parse(BOTH[0]), change(**words))
    assert resolver.found(BOTH[0]) == before


LOST = RegistrationChange(lost=True, successor=parse("b.example/ibi/2020/01.01.00.00"))


async def resolver_with_heir() -> MembershipApp:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.register("b.example/ibi/2020/01.01.00.00")
    await resolver.send()
    return resolver


async def test_an_archive_is_called_before_it_is_taken_for_lost() -> None:
    resolver = await resolver_with_heir()
    resolver.registry.change(parse(REP), lambda found: replace(found, failed=FailedContact("timed-out", Instant(1))))
    resolver.called.clear()
    with pytest.raises(InvalidInput, match="is not taken for lost: it answered at"):
        await resolver.admin.set(parse(REP), LOST)
    assert [each.service.rep for each in resolver.called] == [parse(REP)]
    resolver.answers = False
    assert (await resolver.admin.set(parse(REP), LOST)).lost is not None


async def test_an_archive_that_failed_for_the_first_time_when_it_was_called_is_lost() -> None:
    resolver = await resolver_with_heir()
    resolver.answers = False
    lost = await resolver.admin.set(parse(REP), LOST)
    assert (lost.lost is not None, lost.inclusion) == (True, None)


@pytest.mark.parametrize("is_kept", [False, True])
async def test_an_archive_that_is_switched_off_is_called_where_it_was_last(tmp_path: Path, *, is_kept: bool) -> None:
    resolver = MembershipApp(registry=SqliteRegistry(tmp_path)) if is_kept else MembershipApp()
    await resolver.register()
    await resolver.register("b.example/ibi/2020/01.01.00.00")
    await resolver.send()
    included = resolver.found()
    assert included is not None
    resolver.registry.change(parse(REP), after_exclusion)
    resolver.called.clear()
    with pytest.raises(InvalidInput, match="is not taken for lost: it answered at"):
        await resolver.admin.set(parse(REP), LOST)
    assert [each.address for each in resolver.called] == [included.inclusion and included.inclusion.address]
    resolver.answers = False
    lost = await resolver.admin.set(parse(REP), LOST)
    assert (lost.lost is not None, lost.last_inclusion) == (True, included.inclusion)
    resolver.registry.close()


async def test_one_that_is_not_registered_cannot_be_changed() -> None:
    with pytest.raises(UnknownArchive):
        await MembershipApp().admin.set(parse(REP), change(vouched=True))


# --- a prefix has one home -------------------------------------------------------------------------------------------


async def test_the_archive_of_the_server_itself_counts_as_registered() -> None:
    own = Application.of_words(["sid.inpe.br/mtc-m21.80/2001/01.01.01.01"], KEY).service
    resolver = MembershipApp(own=own)
    with pytest.raises(PrefixTaken, match=r"mtc-m21\.80/2001"):
        await resolver.admin.register(APPLICATION)
    await resolver.register(OTHER)
    with pytest.raises(PrefixTaken):
        await resolver.admin.set(parse(OTHER), change(add_prefixes=["sid.inpe.br/mtc-m21"]))
    assert (await resolver.admin.register(replace(APPLICATION, shared=True))).registration.shared
    with pytest.raises(PrefixTaken):
        await resolver.admin.set(parse(REP), change(shared=False))
    # The server's own Archive may itself be registered, and be a successor.
    await resolver.admin.register(Application.of_words([own.labels[0].spelling], KEY, shared=True))
    assert (await resolver.admin.set(parse(OTHER), change(successor=str(own.labels[0])))).successor == own


async def test_a_new_key_may_add_prefixes_and_takes_none() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.register(OTHER)
    wanted = Application.of_words([REP], "5985125171", prefixes=["sid.inpe.br/mtc-m18"])
    after = (await resolver.admin.register(wanted, replace_key=True)).registration
    assert after.prefixes == {"sid.inpe.br/mtc-m18"}
    taking = Application.of_words([REP], "5985125171", prefixes=["dpi.inpe.br/banon"])
    with pytest.raises(PrefixTaken):
        await resolver.admin.register(taking, replace_key=True)
    assert resolver.found() == after


# --- letters ---------------------------------------------------------------------------------------------------------


async def test_an_administrator_is_told_when_there_is_an_address() -> None:
    resolver = MembershipApp(post=Post())
    registered = await resolver.admin.register(replace(APPLICATION, admin_mail="banon@dpi.inpe.br"))
    assert resolver.post is not None
    (letter,) = resolver.post.letters
    assert registered.posted is not None
    assert (registered.posted.letter, registered.posted.sent) == (letter, True)
    assert letter.to == "banon@dpi.inpe.br"
    assert "http://urlib.net" in letter.text
    assert KEY not in letter.text


async def test_without_an_address_no_letter_is_sent() -> None:
    resolver = MembershipApp(post=Post())
    assert (await resolver.admin.register(APPLICATION)).posted is None


async def test_without_a_mail_server_the_letter_is_there_to_be_shown() -> None:
    registered = await MembershipApp().admin.register(replace(APPLICATION, admin_mail="banon@dpi.inpe.br"))
    letter = registered.resource().letter
    assert letter is not None
    assert (letter.to, letter.sent, letter.reason) == ("banon@dpi.inpe.br", False, None)


async def test_a_mail_server_that_is_away_undoes_nothing() -> None:
    class Away(Post):
        def send(self, letter: Letter) -> None:
            raise MailNotSent(recipient=letter.to, server="mail:25", reason="it is away")

    resolver = MembershipApp(post=Away())
    registered = await resolver.admin.register(replace(APPLICATION, admin_mail="banon@dpi.inpe.br"))
    assert resolver.found() == registered.registration
    assert registered.posted is not None
    assert registered.posted.reason == "The mail to banon@dpi.inpe.br was not sent through mail:25: it is away."


async def test_a_letter_without_a_mailer_is_not_sent() -> None:
    letter = Letter("a@example.org", "s", "t")
    posted = await post(letter, None)
    assert (posted.letter, posted.sent, posted.reason) == (letter, False, None)


@pytest.mark.parametrize(
    ("mail", "sender"),
    [
        (b"From: Ana =?utf-8?q?=C3=81vila?= <ana@example.org>\r\nSubject: x\r\n\r\nbody", "ana@example.org"),
        (b"From: ana@example.org\n\nbody", "ana@example.org"),
        (b"Subject: x\n\nFrom: ana@example.org", None),
        (b"archiveserviceibi = x", None),
        (b"From: ana@example.org, eve@example.org\n\n", None),
        (b"From: nobody\n\n", None),
        (b"From: " + b"(" * 100_000 + b"\n\n", None),
        (b"\xff\xfe", None),
        (b"", None),
    ],
)
def test_where_an_answer_to_a_mail_goes(mail: bytes, sender: str | None) -> None:
    assert sender_of(mail) == sender


# --- inclusion -------------------------------------------------------------------------------------------------------


async def test_the_same_inclusion_again_writes_nothing() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    version, found = resolver.registry.version(), resolver.found()
    for _ in range(3):
        resolver.clocks.advance(60)
        assert (await resolver.send()).status == 200
    assert (resolver.registry.version(), resolver.found()) == (version, found)


async def test_those_who_ask_for_the_same_at_once_share_one_call() -> None:
    called, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: ArchiveRef) -> bool:
        called.set()
        await answer.wait()
        return True

    resolver = MembershipApp(answers=slowly)
    await resolver.register()
    first = asyncio.create_task(resolver.send())
    await called.wait()
    assert resolver.addresses == ["mtc-m21.sid.inpe.br"]  # it does not wait for the call to be included
    answer.set()
    await first
    called.clear()
    answer.clear()
    # Their key is known by now and nothing has to be written: no thread decides who comes when.
    under_way = [asyncio.create_task(resolver.send()) for _ in range(5)]
    await called.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    answer.set()
    assert {one.body for one in await asyncio.gather(*under_way)} == {
        b"status.archive included status.confirmation successful"
    }
    assert len(resolver.called) == 2
    await resolver.send()
    assert len(resolver.called) == 3


async def test_one_that_is_excluded_while_it_is_called_stays_excluded() -> None:
    called, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: ArchiveRef) -> bool:
        called.set()
        await answer.wait()
        return True

    resolver = MembershipApp(answers=slowly)
    await resolver.register()
    inclusion = asyncio.create_task(resolver.send())
    await called.wait()
    assert (await resolver.send(query(servicesubject="exclusionRequest"))).status == 200
    answer.set()
    await inclusion
    assert resolver.addresses == []


async def test_one_that_is_forgotten_while_it_is_called_is_told_so() -> None:
    called, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: ArchiveRef) -> bool:
        called.set()
        await answer.wait()
        return True

    resolver = MembershipApp(answers=slowly)
    await resolver.register()
    inclusion = asyncio.create_task(resolver.send())
    await called.wait()
    await resolver.admin.forget(parse(REP))
    answer.set()
    assert (await inclusion).status == 403
    assert str(KeyRefused()).encode() in (await inclusion).body


async def test_one_that_gets_another_key_while_it_is_called_is_told_so() -> None:
    called, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: ArchiveRef) -> bool:
        called.set()
        await answer.wait()
        return True

    resolver = MembershipApp(answers=slowly)
    await resolver.register()
    inclusion = asyncio.create_task(resolver.send())
    await called.wait()
    await resolver.admin.register(APPLICATION, replace_key=True)
    answer.set()
    assert (await inclusion).status == 403


async def test_closing_breaks_off_the_calls_under_way() -> None:
    called = asyncio.Event()

    async def forever(_: ArchiveRef) -> bool:
        called.set()
        await asyncio.Event().wait()
        return True

    resolver = MembershipApp(answers=forever)
    await resolver.register()
    inclusion = asyncio.create_task(resolver.send())
    await called.wait()
    await resolver.admin.close()
    with pytest.raises(asyncio.CancelledError):
        await inclusion
    assert resolver.addresses == ["mtc-m21.sid.inpe.br"]


# --- what others see -------------------------------------------------------------------------------------------------


async def test_the_directory_is_made_anew_only_when_the_register_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("ibi.membership.store.registry.monotonic", lambda: now[0])
    registry = SqliteRegistry(tmp_path)
    resolver = MembershipApp(registry=registry)
    own = ArchiveRef(Application.of_words(["own.br/a/2012/06.05.15.34"], KEY).service, "own.example.org")
    directory = ArchiveDirectory(registry, own)
    assert directory.archives() == (own,)
    await resolver.register()
    await resolver.send()
    both = directory.archives()
    assert [each.address for each in both] == ["own.example.org", "mtc-m21.sid.inpe.br"]
    assert directory.archives() is both
    other = SqliteRegistry(tmp_path)  # as another process has it
    other.forget(parse(REP))
    other.close()
    now[0] += 0.01
    assert directory.archives() == (own,)
    registry.close()


async def test_an_archive_that_comes_and_goes_leaves_what_is_known_of_others_as_it_is(tmp_path: Path) -> None:
    """Otherwise each time costs what all registered Archives cost together."""
    registry = SqliteRegistry(tmp_path)
    resolver = MembershipApp(registry=registry)
    await resolver.register()
    await resolver.send()
    other = Registration(
        Application.of_words(["other.br/a/2012/06.05.15.34"], KEY).service,
        "$argon2id$",
        Instant(1),
        inclusion=registry.all()[0].inclusion,
    )
    registry.put(other)
    directory = ArchiveDirectory(registry, None)
    first, kept = directory.archives()[0], registry.find(other.labels[0])
    for subject, number in (("exclusionRequest", 1), ("inclusionRequest", 2)):
        await resolver.send(query(servicesubject=subject))
        assert len(directory.archives()) == number
        assert directory.archives()[0] is first
        assert registry.find(other.labels[0]) is kept
    registry.close()


async def test_the_own_archive_is_asked_once_even_if_it_is_registered() -> None:
    resolver = MembershipApp()
    await resolver.register()
    await resolver.send()
    own = ArchiveRef(APPLICATION.service, "own.example.org")
    assert ArchiveDirectory(resolver.registry, own).archives() == (own,)
    assert ArchiveDirectory(None, own).archives() == (own,)
    assert ArchiveDirectory(None, None).archives() == ()


async def test_an_archive_that_is_switched_off_is_the_home_of_its_labels_all_the_same() -> None:
    resolver = MembershipApp()
    await resolver.register()
    directory = ArchiveDirectory(resolver.registry, None)
    named_there = parse(REP.replace("2012", "2011"))
    assert directory.archives() == ()
    assert directory.homes().of(named_there) == (Home(APPLICATION.service, None),)
    assert directory.homes().of(parse("lab.br/arq/2009/07.21.14.43")) == ()
    await resolver.send()
    (included,) = directory.archives()
    assert directory.homes().of(named_there) == (Home(APPLICATION.service, included),)
    await resolver.send(query(servicesubject="exclusionRequest"))
    assert directory.archives() == ()
    assert directory.homes().of(named_there) == (Home(APPLICATION.service, None),)


async def test_the_archive_of_this_server_is_the_home_of_its_labels_though_it_is_registered_and_switched_off() -> None:
    resolver = MembershipApp()
    await resolver.register()
    own = ArchiveRef(APPLICATION.service, "own.example.org", prefixes=frozenset({"lab.br/arq"}))
    beside = ArchiveDirectory(resolver.registry, own)
    assert beside.archives() == (own,)
    for label in (REP.replace("2012", "2011"), "lab.br/arq/2009/07.21.14.43"):
        assert beside.homes().of(parse(label)) == (Home(own.service, own),)


async def test_what_is_public_of_the_register_is_who_is_asked_and_where() -> None:
    resolver = MembershipApp()
    registered = await resolver.register(admin_mail="banon@dpi.inpe.br", networks=["10.0.0.0/8"])
    assert public_facts(registered) == {
        "rep": REP,
        "ibip": None,
        "included": False,
        "address": None,
        "protocol": None,
        "confirmed": None,
        "since": None,
        "prefixes": [],
        "successor": None,
        "lost": None,
        "key": None,
        "former_keys": [],
        "failure": None,
        "last": None,
    }
    await resolver.send()
    found = resolver.found()
    assert found is not None
    assert public_facts(found) == {
        "rep": REP,
        "ibip": None,
        "included": True,
        "address": "mtc-m21.sid.inpe.br",
        "protocol": "HTTP",
        "confirmed": True,
        "since": "2026-11-20T10:00:00Z",
        "prefixes": [],
        "successor": None,
        "lost": None,
        "key": None,
        "former_keys": [],
        "failure": None,
        "last": None,
    }
    assert found.key_hash not in str(all_facts(found))


async def test_keys_reach_no_log_no_text_and_no_register() -> None:
    resolver = MembershipApp(post=Post())
    with capture_logs() as logged:
        registered = await resolver.admin.register(replace(APPLICATION, admin_mail="banon@dpi.inpe.br"))
        await resolver.send(query(registrationkey=KEY))
        await resolver.send(query(registrationkey="7730914259"))
        await resolver.send(query(registrationkey=KEY, servicesubject="exclusionRequest"))
        await resolver.admin.allow_networks(parse(REP), [network("10.0.0.0/8")])
        await resolver.admin.forget(parse(REP))
    assert len(logged) == 5
    for shown in (repr(logged), repr(registered), repr(APPLICATION), repr(registered.registration)):
        assert KEY not in shown
        assert "argon2" not in shown
    assert "150.163.34.239" not in repr(logged)
