"""E60: an address that answered is not given up for one that does not."""

from __future__ import annotations

from ibi.membership.rules.authority import ArchiveRef
from tests.support.membership_app import MembershipApp, Post, query

SUCCESSFUL = b"status.archive included status.confirmation successful"
UNSUCCESSFUL = b"status.archive included status.confirmation unsuccessful"
HOME, MOVED = "mtc-m21.sid.inpe.br", "mtc-m22.sid.inpe.br:8080"


def silent_at(*addresses: str) -> MembershipApp:
    async def answers(archive: ArchiveRef) -> bool:
        return archive.address not in addresses

    return MembershipApp(answers=answers, post=Post())


async def test_a_first_inclusion_counts_either_way() -> None:
    resolver = silent_at(HOME)
    await resolver.register()
    assert (await resolver.send()).body == UNSUCCESSFUL
    assert resolver.addresses == [HOME]


async def test_a_new_address_that_does_not_confirm_gets_the_same_answer_and_does_not_count() -> None:
    resolver = silent_at(MOVED)
    await resolver.register(admin_mail="banon@dpi.inpe.br")
    await resolver.send()
    assert (await resolver.send(query(archiveaddress=MOVED))).body == UNSUCCESSFUL
    assert resolver.addresses == [HOME]
    found = resolver.found()
    assert found is not None
    assert found.pending is not None
    assert found.pending.address == MOVED


async def test_a_new_address_that_confirms_counts_at_once() -> None:
    resolver = silent_at()
    await resolver.register()
    await resolver.send()
    assert (await resolver.send(query(archiveaddress=MOVED))).body == SUCCESSFUL
    assert resolver.addresses == [MOVED]
    assert resolver.post is not None
    assert resolver.post.letters == []


async def test_the_administrator_on_record_is_told_once() -> None:
    resolver = silent_at(MOVED)
    await resolver.register(admin_mail="banon@dpi.inpe.br")
    assert resolver.post is not None
    resolver.post.letters.clear()  # that it is registered
    await resolver.send()
    moved = query(archiveaddress=MOVED, archiveadmemailaddress="eve@example.org")
    for _ in range(3):
        await resolver.send(moved)
        await resolver.send()  # and back, so that it begins anew
    await resolver.settle()
    (letter,) = resolver.post.letters
    assert letter.to == "banon@dpi.inpe.br"
    assert f"http://{MOVED}" in letter.text
    assert f"http://{HOME}" in letter.text
    assert "1234567890" not in letter.text
    resolver.seconds += 3600
    await resolver.send(moved)
    await resolver.settle()
    assert len(resolver.post.letters) == 2


async def test_without_one_on_record_the_administrator_of_the_address_that_counts_is_told() -> None:
    resolver = silent_at(MOVED)
    await resolver.register()
    await resolver.send()
    await resolver.send(query(archiveaddress=MOVED, archiveadmemailaddress="eve@example.org"))
    await resolver.settle()
    assert resolver.post is not None
    assert [letter.to for letter in resolver.post.letters] == ["banon@dpi.inpe.br"]
