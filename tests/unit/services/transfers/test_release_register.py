"""What a resolver believes of releases: an Archive gives away what it is the home of, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.federation.provenance import NO_CHAIN, Chain, countersign, manifest_digest, sign_release
from ibi.instant import Instant
from ibi.label import Ibip, Label, RepositoryName
from ibi.label.search import home_prefix
from ibi.messages.label_forms import LabelForms
from ibi.services.transfers.release_register import ReleaseNotBelieved, ReleaseRegister
from ibi.signing import PublicKey, SigningKey
from ibi.storage.sqlite.transfers import SqliteChainStore
from tests.support.memory.beliefs import MemoryBeliefs

VICTIM = RepositoryName.parse("sid.inpe.br/mtc-m18/2008/03.17.15.17")
THIEF, HEIR = (RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00") for name in ("thief", "heir"))
KEYS: dict[Label, SigningKey] = {name: SigningKey(bytes([n]) * 32) for n, name in enumerate((VICTIM, THIEF, HEIR), 1)}
THEIRS = Ibip.parse("8JMKD3MGP8W/34PGRBS")
"""A label of the thief's own prefix, of the same instant as the victim's item."""
ITEM = RepositoryName.parse("sid.inpe.br/mtc-m18/2009/02.16.17.46")
PREFIXES: dict[Label, set[str]] = {
    VICTIM: {home_prefix(VICTIM)},
    THIEF: {home_prefix(THIEF), home_prefix(THEIRS)},
    HEIR: {home_prefix(HEIR)},
}


@pytest.fixture
def beliefs() -> MemoryBeliefs:
    return MemoryBeliefs()


@pytest.fixture
def register(tmp_path: Path, beliefs: MemoryBeliefs) -> Iterator[ReleaseRegister]:
    def is_key_of(who: Label, key: PublicKey) -> bool:
        return who in KEYS and KEYS[who].public == key

    def is_home(who: Label, prefix: str) -> bool:
        return prefix in PREFIXES.get(who, set())

    with closing(SqliteChainStore(tmp_path)) as store:
        yield ReleaseRegister(store, beliefs, is_key_of, is_home, lambda: 1.0)


def given(labels: LabelForms, giver: Label, to: Label) -> Chain:
    manifest = manifest_digest({"item.json": "0" * 128})
    chain = sign_release(NO_CHAIN, labels, giver, to, KEYS[to].public, manifest, Instant(1_800_000_000), KEYS[giver])
    return countersign(chain, KEYS[to])


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
