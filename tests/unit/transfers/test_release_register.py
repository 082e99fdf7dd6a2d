"""What a resolver believes of releases: an Archive gives away what it is the home of, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from ibi.items.rules.provenance import NO_CHAIN, Chain, InvalidProvenance, countersign, manifest_digest, sign_release
from ibi.membership.model.registration import ClaimKind, Ruling
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey
from ibi.transfers.service.release_register import ReleaseNotBelieved, ReleaseRegister
from ibi.transfers.store.releases import SqliteChainStore
from tests.support.memory.beliefs import MemoryBeliefs

VICTIM = RepositoryName.parse("sid.inpe.br/mtc-m18/2008/03.17.15.17")
THIEF, HEIR = (RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00") for name in ("thief", "heir"))
KEYS: dict[Label, SigningKey] = {name: SigningKey(bytes([n]) * 32) for n, name in enumerate((VICTIM, THIEF, HEIR), 1)}
BEFORE = SigningKey(b"b" * 32)
"""The key of the victim that it has replaced."""
THEIRS = Ibip.parse("8JMKD3MGP8W/34PGRBS")
"""A label of the thief's own prefix, of the same instant as the victim's item."""
ITEM = RepositoryName.parse("sid.inpe.br/mtc-m18/2009/02.16.17.46")
PREFIXES: dict[Label, set[str]] = {
    VICTIM: {home_prefix(VICTIM)},
    THIEF: {home_prefix(THIEF), home_prefix(THEIRS)},
    HEIR: {home_prefix(HEIR)},
}


def is_key_of(who: Label, key: PublicKey) -> bool:
    return who in KEYS and KEYS[who].public == key


def is_former_key(who: Label, key: PublicKey) -> bool:
    return who == VICTIM and key == BEFORE.public


def is_home(who: Label, prefix: str) -> bool:
    return prefix in PREFIXES.get(who, set())


@pytest.fixture
def beliefs() -> MemoryBeliefs:
    return MemoryBeliefs()


@pytest.fixture
def register(tmp_path: Path, beliefs: MemoryBeliefs) -> Iterator[ReleaseRegister]:
    with closing(SqliteChainStore(tmp_path)) as store:
        yield ReleaseRegister(store, beliefs, is_key_of, is_home, lambda: 1.0, is_former_key=is_former_key)


def given(labels: LabelForms, giver: Label, to: Label, chain: Chain = NO_CHAIN, key: SigningKey | None = None) -> Chain:
    return countersign(released(labels, giver, to, chain, key), KEYS[to])


def released(
    labels: LabelForms, giver: Label, to: Label, chain: Chain = NO_CHAIN, key: SigningKey | None = None
) -> Chain:
    manifest, at = manifest_digest({"item.json": "0" * 128}), Instant(1_800_000_000)
    return sign_release(chain, labels, giver, to, KEYS[to].public, manifest, at, key or KEYS[giver])


def test_a_home_gives_away_what_is_its_own(register: ReleaseRegister, beliefs: MemoryBeliefs) -> None:
    assert register.hear(given(LabelForms(ITEM), VICTIM, HEIR).texts) == HEIR
    assert beliefs.successors(ITEM) == (HEIR,)


def test_another_gives_away_nothing_of_it(register: ReleaseRegister, beliefs: MemoryBeliefs) -> None:
    with pytest.raises(ReleaseNotBelieved, match="not registered for its prefix"):
        register.hear(given(LabelForms(ITEM), THIEF, HEIR).texts)
    assert beliefs.successors(ITEM) == ()


def test_a_label_of_ones_own_beside_anothers_gives_away_nothing(
    register: ReleaseRegister, beliefs: MemoryBeliefs
) -> None:
    """Both labels are of one instant, and may be those of one item: that is the thief's word alone."""
    assert THEIRS.instant == ITEM.instant
    with pytest.raises(ReleaseNotBelieved, match="not registered for its prefix"):
        register.hear(given(LabelForms(ITEM, THEIRS), THIEF, HEIR).texts)
    assert (beliefs.successors(ITEM), beliefs.successors(THEIRS), register.chain(ITEM)) == ((), (), ())
    assert register.hear(given(LabelForms(ITEM), VICTIM, HEIR).texts) == HEIR


def test_anothers_label_beside_ones_own_stays_anothers(register: ReleaseRegister, beliefs: MemoryBeliefs) -> None:
    """The reverse: the victim gives away its item, and says that a label of the thief's is the same."""
    register.hear(given(LabelForms(ITEM, THEIRS), VICTIM, HEIR).texts)
    assert (beliefs.successors(ITEM), beliefs.successors(THEIRS)) == ((HEIR,), ())


class TestAnArchiveThatHasReplacedItsKey:
    def test_is_believed_in_what_is_known_and_what_follows(
        self, register: ReleaseRegister, beliefs: MemoryBeliefs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chain = given(LabelForms(ITEM), VICTIM, HEIR)
        register.hear(chain.texts)
        monkeypatch.setitem(KEYS, VICTIM, SigningKey(b"n" * 32))
        assert register.hear(chain.texts) == HEIR
        assert register.hear(given(LabelForms(ITEM), HEIR, THIEF, chain).texts) == THIEF
        assert beliefs.successors(ITEM) == (HEIR, THIEF)

    def test_is_believed_in_what_a_known_archive_took_over_before_it_was_told(
        self, register: ReleaseRegister, beliefs: MemoryBeliefs
    ) -> None:
        under_way = released(LabelForms(ITEM), VICTIM, HEIR, key=BEFORE)
        with pytest.raises(ReleaseNotBelieved, match="a key that was given up, and no Archive"):
            register.hear(under_way.texts)
        with pytest.raises(InvalidProvenance, match="is not a key of"):
            register.hear(countersign(under_way, BEFORE).texts)
        assert register.hear(countersign(under_way, KEYS[HEIR]).texts) == HEIR
        assert beliefs.successors(ITEM) == (HEIR,)

    @pytest.mark.parametrize("label", [ITEM, THEIRS])
    def test_is_not_believed_against_a_claim_or_the_word_of_the_administrator(
        self, register: ReleaseRegister, beliefs: MemoryBeliefs, label: Label
    ) -> None:
        texts = given(LabelForms(ITEM, THEIRS), VICTIM, HEIR, key=BEFORE).texts
        beliefs.record_claim(label, HEIR, VICTIM, ClaimKind.ORIGINAL, 1)
        with pytest.raises(ReleaseNotBelieved, match="in dispute"):
            register.hear(texts)
        beliefs.rule(Ruling(label, VICTIM, frozenset({HEIR, VICTIM}), 1, "Ana"))
        with pytest.raises(ReleaseNotBelieved, match="said otherwise"):
            register.hear(texts)
        assert register.chain(ITEM) == ()

    def test_is_not_believed_in_a_second_release(self, register: ReleaseRegister) -> None:
        register.hear(given(LabelForms(ITEM), VICTIM, HEIR).texts)
        with pytest.raises(ReleaseNotBelieved, match="of the same number"):
            register.hear(given(LabelForms(ITEM), VICTIM, THIEF, key=BEFORE).texts)


def test_of_two_releases_that_two_processes_hear_at_once_one_is_kept(tmp_path: Path, beliefs: MemoryBeliefs) -> None:
    refused: list[ReleaseNotBelieved] = []
    with closing(SqliteChainStore(tmp_path)) as one, closing(SqliteChainStore(tmp_path)) as two:
        other = ReleaseRegister(two, beliefs, is_key_of, is_home, lambda: 1.0)

        def hear_other() -> None:
            try:
                other.hear(given(LabelForms(ITEM), VICTIM, THIEF).texts)
            except ReleaseNotBelieved as error:
                refused.append(error)

        thread = Thread(target=hear_other)

        def is_home_meanwhile(who: Label, prefix: str) -> bool:
            thread.start()
            thread.join(0.2)  # which is long enough for what does not wait
            return is_home(who, prefix)

        register = ReleaseRegister(one, beliefs, is_key_of, is_home_meanwhile, lambda: 1.0)
        assert register.hear(given(LabelForms(ITEM), VICTIM, HEIR).texts) == HEIR
        thread.join()
        assert len(refused) == 1
        assert beliefs.successors(ITEM) == (HEIR,)
