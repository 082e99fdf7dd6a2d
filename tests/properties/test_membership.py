"""Membership at the resolver, whatever Archives, administrators and strangers do in whatever order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.label import parse
from ibi.standard.networks import network
from tests.support.membership_app import MembershipApp, query

SERVICES = (
    ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"),
    ("sid.inpe.br/mtc-m21/2012/06.05.15.34.39",),
    ("8JMKD3MGP8W/35MME4E",),
)
KEYS = ("7730914258", "5985125171-4677640000", "3141592653")
ADDRESSES = ("a.example.org", "b.example.org:8080", "A.example.org")
NETWORKS = ("10.0.0.0/8", "192.168.0.0/16")

services = st.sampled_from(range(len(SERVICES)))
keys = st.sampled_from(KEYS)


@dataclass
class Member:
    """What the standard has of a registered Archive: its key, and where it is, if it is switched on; and what E60 adds:
    whether it has ever answered there, and where it wants to be."""

    key: str
    networks: frozenset[str] = frozenset()
    address: str | None = None
    confirmed: bool = False
    answered: bool = False
    pending: str | None = None

    def include(self, address: str, *, answers: bool) -> None:
        is_here = self.address is None or self.address.lower() == address.lower()
        if self.answered and not is_here and not answers:
            self.pending = address
            return
        self.answered = answers or (self.answered and is_here)
        self.address, self.confirmed, self.pending = address, answers, None


class Membership(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.resolver = MembershipApp(answers=self.answer)
        self.members: dict[int, Member] = {}
        self.silent: set[str] = set()
        self.body = b""

    async def answer(self, archive: ArchiveRef) -> bool:
        return archive.address not in self.silent

    def teardown(self) -> None:
        self.loop.run_until_complete(self.resolver.admin.close())
        self.loop.close()

    def send(self, service: int, form: int, key: str, address: str, subject: str) -> int:
        # No guess is ever made too soon: that has tests of its own.
        self.resolver.seconds += 3601
        labels = SERVICES[service]
        text = query(
            servicesubject=subject,
            archiveserviceibi=labels[form % len(labels)],
            archiveaddress=address,
            registrationkey=key,
        )
        answer = self.loop.run_until_complete(self.resolver.send(text))
        self.body = answer.body
        return answer.status

    @rule(service=services, key=keys)
    def register(self, service: int, key: str) -> None:
        if service not in self.members:
            self.loop.run_until_complete(self.resolver.register(*SERVICES[service], key=key))
            self.members[service] = Member(key)

    @precondition(lambda self: self.members)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        service = data.draw(st.sampled_from(sorted(self.members)))
        self.loop.run_until_complete(self.resolver.admin.forget(parse(SERVICES[service][-1])))
        del self.members[service]

    @precondition(lambda self: self.members)
    @rule(data=st.data(), allowed=st.sampled_from(NETWORKS), undo=st.booleans())
    def allow(self, data: st.DataObject, allowed: str, undo: bool) -> None:
        service = data.draw(st.sampled_from(sorted(self.members)))
        given = [network(allowed)]
        self.loop.run_until_complete(
            self.resolver.admin.allow_networks(
                parse(SERVICES[service][0]), () if undo else given, given if undo else ()
            )
        )
        member = self.members[service]
        member.networks = member.networks - {allowed} if undo else member.networks | {allowed}

    @rule(address=st.sampled_from(ADDRESSES))
    def fall_silent_or_speak_again(self, address: str) -> None:
        self.silent ^= {address}

    @rule(service=services, form=st.integers(0, 1), key=keys, address=st.sampled_from(ADDRESSES))
    def include(self, service: int, form: int, key: str, address: str) -> None:
        status = self.send(service, form, key, address, "inclusionRequest")
        member = self.members.get(service)
        if member is None or member.key != key:
            assert status == 403
            return
        assert status == 200
        member.include(address, answers=address not in self.silent)
        said = "unsuccessful" if address in self.silent else "successful"
        assert self.body == f"status.archive included status.confirmation {said}".encode()

    @rule(service=services, form=st.integers(0, 1), key=keys, address=st.sampled_from(ADDRESSES))
    def exclude(self, service: int, form: int, key: str, address: str) -> None:
        status = self.send(service, form, key, address, "exclusionRequest")
        member = self.members.get(service)
        if member is None or member.key != key:
            assert status == 403
            return
        assert (status, self.body) == (200, b"status.archive excluded")
        member.address, member.pending, member.answered = None, None, False

    @invariant()
    def those_are_asked_who_are_switched_on(self) -> None:
        asked = {
            tuple(label.spelling for label in archive.service.labels): (
                archive.address,
                frozenset(map(str, archive.networks)),
            )
            for archive in self.resolver.directory.archives()
        }
        assert asked == {
            SERVICES[service]: (member.address, member.networks)
            for service, member in self.members.items()
            if member.address is not None
        }

    @invariant()
    def those_are_confirmed_who_answered_last(self) -> None:
        for registration in self.resolver.registry.all():
            (service,) = [number for number, labels in enumerate(SERVICES) if labels[0] == str(registration.labels[0])]
            member = self.members[service]
            assert (registration.inclusion is not None) is (member.address is not None)
            if registration.inclusion is not None:
                assert registration.inclusion.confirmed is member.confirmed
            assert (None if registration.pending is None else registration.pending.address) == member.pending

    @invariant()
    def no_key_is_on_record(self) -> None:
        shown = repr([(each, each.key_hash) for each in self.resolver.registry.all()])
        assert not any(key in shown for key in KEYS)


TestMembership = Membership.TestCase
