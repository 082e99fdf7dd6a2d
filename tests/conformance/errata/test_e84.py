"""E84: a home signs who holds Copies of its items, by Archive and prefix, and a resolver keeps that."""

from __future__ import annotations

import pytest

from ibi.membership.model.registration import NO_COPIES, Registration
from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.feed_following import CopyStatements
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.holders import CopyHolder, read_copies_statement, sign_copies
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import InvalidStatement, SigningKey, sign_statement
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry
from tests.support.signing_member import NOW, seed

SERVICE = LabelForms.of(parse("lab.br/arq/2008/03.17.15.17"))
HOME = ArchiveRef(SERVICE, "arq.lab.br", feed="/api/changes")
ALL, SOME = (
    ArchiveRef(LabelForms.of(parse(f"example.org/{name}/2008/03.17.15.17")), f"{name}.example.org") for name in "bc"
)
ITEM, OTHER = parse("lab.br/arq/2009/07.21.14.43"), parse("old.br/arq/2009/07.21.14.43")
HOLDERS = (CopyHolder(ALL.service.labels[0]), CopyHolder(SOME.service.labels[0], frozenset({home_prefix(OTHER)})))


def said(
    holders: tuple[CopyHolder, ...] = HOLDERS,
    at: int = NOW,
    key: SigningKey | None = None,
    service: LabelForms = SERVICE,
) -> str:
    return sign_copies(service, holders, at, key or seed("a"))


class Resolver:
    """A resolver that knows the key of the home."""

    def __init__(self, key: SigningKey | None = None) -> None:
        self.registry, self.beliefs = MemoryRegistry(), MemoryBeliefs()
        public = (key or seed("a")).public
        self.registry.add(Registration(SERVICE, "", Instant(0), key=public))
        self.statements = CopyStatements(None, self.registry, self.beliefs, lambda: NOW / 1000)  # type: ignore[arg-type]

    def take(self, statement: str) -> str | None:
        return self.statements.take(HOME, statement)


def test_a_holder_is_written_as_the_setting_has_it() -> None:
    for text in ("example.org/b/2008/03.17.15.17", "example.org/b/2008/03.17.15.17=lab.br/arq,old.br/arq"):
        assert str(CopyHolder.parse(text)) == text


def test_what_the_home_signed_is_kept_byte_for_byte() -> None:
    resolver, statement = Resolver(), said()
    assert resolver.take(statement) is None
    found = resolver.beliefs.named_copies(SERVICE.labels[0])
    assert found.statement == statement
    assert found.holders == frozenset(HOLDERS)
    assert read_copies_statement(statement).archive == SERVICE.labels
    assert resolver.take(statement) is None  # once more


def test_the_holders_are_trusted_about_the_items_that_were_named() -> None:
    resolver = Resolver()
    assert resolver.take(said()) is None
    memory = Memory(resolver.beliefs)
    homes = Homes([(Home(SERVICE, HOME), [home_prefix(ITEM), home_prefix(OTHER)])])
    memory.include((HOME, ALL, SOME), homes, 0)
    assert memory.authority(ITEM).trusted == {ALL}
    assert memory.authority(OTHER).trusted == {ALL, SOME}


def test_a_later_statement_takes_its_place_and_an_earlier_one_does_not() -> None:
    resolver = Resolver()
    assert resolver.take(said()) is None
    assert resolver.take(said((), NOW + 1)) is None
    assert resolver.beliefs.copies(SERVICE.labels[0]).holders == frozenset()
    assert "later one is known" in (resolver.take(said(at=NOW)) or "")
    assert resolver.beliefs.copies(SERVICE.labels[0]).holders == frozenset()


def test_a_statement_by_the_new_key_counts_whatever_the_old_one_said() -> None:
    resolver = Resolver()
    assert resolver.take(said(at=NOW + 200_000)) is None
    resolver.registry.change(SERVICE.labels[0], lambda found: found.with_key(seed("n").public))
    assert "another key" in (resolver.take(said(at=NOW + 200_001)) or "")
    assert resolver.take(said((), NOW, seed("n"))) is None
    assert resolver.beliefs.copies(SERVICE.labels[0]).holders == frozenset()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (said(key=seed("t")), "another key"),
        (said(service=ALL.service), "another Archive"),
        (said(at=NOW + 301_000), "time to come"),
        (sign_statement("confirmation", {"archive": ["x"], "at": NOW, "holders": []}, seed("a")), "another kind"),
        (sign_statement("copies", {"at": NOW, "holders": []}, seed("a")), "does not tell"),
        (sign_statement("copies", {"archive": ["lab.br/arq"], "at": NOW, "holders": []}, seed("a")), "does not tell"),
        (sign_statement("copies", {"archive": [], "at": NOW, "holders": []}, seed("a")), "does not tell"),
        (
            sign_statement(
                "copies", {"archive": [str(SERVICE.labels[0])], "at": True, "holders": [{"archive": 7}]}, seed("a")
            ),
            "does not tell",
        ),
        (said()[:-4] + "AAAA", "its signature"),
        ("", "three parts"),
        ("x" * 300_000, "characters"),
    ],
)
def test_what_the_home_did_not_sign_is_not_believed(statement: str, reason: str) -> None:
    resolver = Resolver()
    assert reason in (resolver.take(statement) or "")
    assert resolver.beliefs.named_copies(SERVICE.labels[0]) == NO_COPIES


def test_nothing_is_believed_of_an_archive_whose_key_is_not_known() -> None:
    resolver = Resolver()
    resolver.registry.change(SERVICE.labels[0], lambda found: found.with_key(None))
    assert "no key" in (resolver.take(said()) or "")
    resolver.registry.forget(SERVICE.labels[0])
    assert "no key" in (resolver.take(said()) or "")


def test_more_holders_or_prefixes_than_there_may_be_are_refused() -> None:
    many = tuple(CopyHolder(parse(f"example.org/b{number}/2008/03.17.15.17")) for number in range(33))
    with pytest.raises(InvalidStatement):
        read_copies_statement(said(many))
    prefixes = frozenset(f"example.org/b{number}" for number in range(65))
    with pytest.raises(InvalidStatement):
        read_copies_statement(said((CopyHolder(ALL.service.labels[0], prefixes),)))
