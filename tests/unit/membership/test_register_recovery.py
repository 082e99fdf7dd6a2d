"""Which of the registers that Archives keep is believed when the resolver has lost its own, and what becomes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.membership.rules.authority import ArchiveRef, Home
from ibi.membership.rules.membership import archive_ref
from ibi.membership.rules.register_recovery import (
    NoRegisterFound,
    RegisterKeyUnknown,
    RegistersContradict,
    SourceVerdict,
    choose_register,
    recovered_registrations,
)
from ibi.membership.rules.signed_register import (
    ListedArchive,
    OfferedRegister,
    read_register,
    register_entries,
    sign_register,
)
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import sign_key_change
from ibi.standard.networks import network
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.vocabulary import ArchiveProtocol

HERE = "https://resolver.example.org"
KEY, NEW, LIAR = (SigningKey(letter * 32) for letter in (b"r", b"n", b"l"))
CHANGE = sign_key_change(KEY, NEW.public, 100)
NOW = Instant(2_000_000_000)


def listed(name: str, key: SigningKey | None = KEY, registered: int = 7, **others: object) -> ListedArchive:
    service = LabelForms.of(parse(f"{name}.br/arq/2009/07.21.14.43"))
    ref = ArchiveRef(
        service,
        f"{name}.br:8080",
        ArchiveProtocol.HTTPS,
        frozenset({f"files.{name}.br"}),
        (network("10.0.0.0/8"),),
        registered,
        vouched=True,
        feed="/api/changes",
    )
    prefixes = frozenset({f"{name}.br/arq", "shared.br/x"}) if others.get("shared") else frozenset({f"{name}.br/arq"})
    return ListedArchive(Home(service, ref), prefixes, registered, None if key is None else key.public)


def statement(issued: int = 100, key: SigningKey = KEY, name: str = "one", changes: tuple[str, ...] = ()) -> str:
    return sign_register(register_entries([listed(name)]), HERE, issued, key, changes)


def offers(*statements: str | None) -> list[OfferedRegister]:
    return [
        OfferedRegister(f"https://{number}.example", each, keeper=SigningKey(bytes([number]) * 32).public)
        for number, each in enumerate(statements)
    ]


def test_the_newest_register_is_taken_whoever_keeps_an_older_one() -> None:
    chosen = choose_register(offers(statement(100), statement(300), statement(200)), None)
    assert chosen.register.issued == 300
    assert [each.verdict for each in chosen.sources] == [
        SourceVerdict.OLDER,
        SourceVerdict.TAKEN,
        SourceVerdict.OLDER,
    ]


def test_one_archive_alone_vouches_for_no_key() -> None:
    with pytest.raises(RegisterKeyUnknown, match="One Archive alone"):
        choose_register(offers(statement()), None)
    assert choose_register(offers(statement()), KEY.public).register.issued == 100
    assert choose_register(offers(statement()), None, own=[NEW.public, KEY.public]).register.issued == 100


@pytest.mark.parametrize("lie", [statement(999, LIAR), statement(999, LIAR, changes=(CHANGE,)), None, "garbage", ""])
def test_archives_that_do_not_all_agree_are_not_outvoted(lie: str | None) -> None:
    with pytest.raises(RegisterKeyUnknown):
        choose_register(offers(statement(), statement(200), lie), None)
    chosen = choose_register(offers(statement(), statement(200), lie), KEY.public)
    assert chosen.register.issued == 200
    assert chosen.sources[2].verdict not in {SourceVerdict.TAKEN, SourceVerdict.OLDER}


def test_a_key_that_was_replaced_counts_with_the_one_that_it_named() -> None:
    before, after = statement(100), statement(200, NEW, changes=(CHANGE,))
    assert choose_register(offers(before, after), None).register.issued == 200
    assert choose_register(offers(before, after), KEY.public).register.issued == 200
    assert choose_register(offers(after), None, own=[NEW.public, KEY.public]).register.issued == 200
    with pytest.raises(RegisterKeyUnknown, match="disagree"):
        choose_register(offers(before, statement(200, NEW)), None)
    # The key that was replaced may be stolen: where the later one is named, it counts no more.
    assert choose_register(offers(statement(900), after), NEW.public).register.issued == 200


@pytest.mark.parametrize("named", [None, KEY.public, NEW.public])
@pytest.mark.parametrize("own", [(), (NEW.public, KEY.public)])
def test_a_key_that_was_replaced_counts_for_what_was_issued_before_that_alone(
    named: PublicKey | None, own: tuple[PublicKey, ...]
) -> None:
    stolen, good = statement(900), statement(200, NEW, changes=(CHANGE,))
    chosen = choose_register(offers(good, good, stolen), named, own)
    assert (chosen.register.issued, chosen.register.signer) == (200, NEW.public)
    assert chosen.sources[2].verdict is SourceVerdict.OTHER_KEY
    with pytest.raises(NoRegisterFound):
        choose_register(offers(stolen), named or KEY.public, own, [CHANGE])


def test_one_archive_under_two_names_vouches_for_no_key() -> None:
    (one,) = offers(statement())
    again = one._replace(source="http://localhost:8080")
    with pytest.raises(RegisterKeyUnknown, match="two Archives"):
        choose_register([one, again], None)
    with pytest.raises(RegisterKeyUnknown, match="two Archives"):
        choose_register([one, again._replace(keeper=None)], None)


def test_two_registers_of_one_moment_contradict_each_other() -> None:
    with pytest.raises(RegistersContradict):
        choose_register(offers(statement(name="one"), statement(name="two")), None)


def test_without_a_register_of_the_named_key_every_reason_is_told() -> None:
    asked = [
        OfferedRegister("https://silent.example", None, "it does not answer"),
        OfferedRegister("https://other.example", statement(key=LIAR)),
        OfferedRegister("https://mad.example", "garbage"),
    ]
    with pytest.raises(NoRegisterFound) as caught:
        choose_register(asked, KEY.public)
    for words in ("it does not answer", f"signed by the key {LIAR.public}", "no signed register"):
        assert words in str(caught.value)


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from([KEY, LIAR])), min_size=1, max_size=6))
def test_no_lie_is_ever_taken_where_the_key_is_named(said: list[tuple[int, SigningKey]]) -> None:
    asked = offers(*(statement(issued, key) for issued, key in said))
    honest = [issued for issued, key in said if key is KEY]
    if honest:
        assert choose_register(asked, KEY.public).register.issued == max(honest)
    else:
        with pytest.raises(NoRegisterFound):
            choose_register(asked, KEY.public)


def test_an_archive_is_registered_as_it_was_but_for_its_registration_key() -> None:
    text = sign_register(register_entries([listed("one"), listed("own", registered=0)]), HERE, 100, KEY)
    (found,) = recovered_registrations(read_register(text), NOW)
    assert found.awaits_key
    assert (found.key, found.registered.seconds, found.vouched) == (KEY.public, 7, True)
    assert found.inclusion is not None
    assert found.inclusion.is_recovered
    assert not found.inclusion.confirmed
    assert archive_ref(found) == listed("one").home.archive
    assert ListedArchive.of_registration(found).awaits_key


def test_archives_that_shared_a_prefix_share_it_again() -> None:
    entries = register_entries([listed("one", shared=True), listed("two", shared=True), listed("three")])
    found = recovered_registrations(read_register(sign_register(entries, HERE, 100, KEY)), NOW)
    assert [each.shared for each in found] == [True, True, False]
    assert found[0].home_prefixes == {"one.br/arq", "shared.br/x"}
