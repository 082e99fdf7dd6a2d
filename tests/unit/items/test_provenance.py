"""Chains of releases: what is believed of them, and what is not."""

from __future__ import annotations

import pytest

from ibi.items.rules.provenance import (
    MOST_LINKS,
    NO_CHAIN,
    Chain,
    ChainOrder,
    InvalidProvenance,
    check_chain,
    compare_chains,
    countersign,
    decode_link,
    encode_link,
    link_path,
    link_paths,
    manifest_digest,
    sign_release,
)
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey, sign_statement

ITEM = LabelForms(RepositoryName.parse("a.example/ibi/2021/01.01.00.00"))
OTHER = LabelForms(RepositoryName.parse("a.example/ibi/2021/01.01.00.01"))
A, B, C = (RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00") for name in "abc")
KEYS: dict[Label, SigningKey] = {name: SigningKey(bytes([number]) * 32) for number, name in enumerate((A, B, C), 1)}
MANIFEST = manifest_digest({"item.json": "0" * 128})
NOON = Instant(1_800_000_000)


def known(who: Label, key: PublicKey) -> bool:
    return who in KEYS and KEYS[who].public == key


def released(
    chain: Chain, giver: Label, to: Label, *, key: SigningKey | None = None, at: Instant = NOON, item: LabelForms = ITEM
) -> Chain:
    return sign_release(chain, item, giver, to, KEYS[to].public, MANIFEST, at, key or KEYS[giver])


def moved(chain: Chain, giver: Label, to: Label, **options: object) -> Chain:
    return countersign(released(chain, giver, to, **options), KEYS[to])  # type: ignore[arg-type]


def test_a_chain_is_what_was_signed() -> None:
    chain = moved(moved(NO_CHAIN, A, B), B, C)
    assert check_chain(chain.texts, known, ITEM) == chain
    assert (chain.successors, chain.is_under_way, chain.next_number) == ((B, C), False, 5)


def test_a_release_without_countersignature_is_under_way() -> None:
    assert released(NO_CHAIN, A, B).is_under_way


def test_the_first_signer_has_to_be_known() -> None:
    chain = released(NO_CHAIN, A, B, key=KEYS[C])
    with pytest.raises(InvalidProvenance, match=r"is not a key of a\.example"):
        check_chain(chain.texts, known)


def test_a_later_signer_has_to_be_the_one_that_was_named() -> None:
    chain = released(moved(NO_CHAIN, A, B), B, C, key=SigningKey(b"x" * 32))
    with pytest.raises(InvalidProvenance, match=r"is not a key of b\.example"):
        check_chain(chain.texts, known)


def test_who_does_not_have_the_original_releases_nothing() -> None:
    chain = released(moved(NO_CHAIN, A, B), A, C)
    with pytest.raises(InvalidProvenance, match="did not have the Original"):
        check_chain(chain.texts, known)


def test_another_does_not_countersign() -> None:
    chain = countersign(released(NO_CHAIN, A, B), SigningKey(b"y" * 32))
    with pytest.raises(InvalidProvenance, match=r"is not a key of b\.example"):
        check_chain(chain.texts, known)


def test_a_release_is_not_played_a_second_time() -> None:
    """The Original went to B and came back; the first release does not give it to B again."""
    chain = moved(moved(NO_CHAIN, A, B), B, A)
    with pytest.raises(InvalidProvenance, match="it says that it is link 1"):
        check_chain((*chain.texts, chain.texts[0]), known)
    assert compare_chains(chain.texts, chain.texts[:2]) is ChainOrder.OLDER


def test_a_link_is_not_left_out_nor_taken_from_another_item() -> None:
    chain, other = moved(moved(NO_CHAIN, A, B), B, C), moved(NO_CHAIN, A, B, item=OTHER)
    with pytest.raises(InvalidProvenance, match="kind"):
        check_chain(chain.texts[1:], known)
    with pytest.raises(InvalidProvenance, match="follows another link"):
        check_chain((other.texts[0], chain.texts[1]), known)
    with pytest.raises(InvalidProvenance, match="is about"):
        check_chain(other.texts, known, ITEM)


def test_a_release_is_not_dated_before_the_one_before_it() -> None:
    chain = released(moved(NO_CHAIN, A, B), B, C, at=Instant(NOON.seconds - 1))
    with pytest.raises(InvalidProvenance, match="dated before"):
        check_chain(chain.texts, known)


def test_two_releases_of_one_number_contradict_each_other_whatever_their_dates() -> None:
    one, other = released(NO_CHAIN, A, B), released(NO_CHAIN, A, C, at=Instant(NOON.seconds - 9_999))
    assert compare_chains(one.texts, other.texts) is ChainOrder.FORKED
    assert compare_chains(other.texts, one.texts) is ChainOrder.FORKED


def test_a_countersignature_made_again_is_the_same() -> None:
    release = released(NO_CHAIN, A, B)
    assert countersign(release, KEYS[B]) == countersign(release, KEYS[B])


def test_a_chain_has_an_end() -> None:
    chain, holders = NO_CHAIN, (A, B)
    for number in range(MOST_LINKS // 2 + 1):
        chain = moved(chain, holders[number % 2], holders[(number + 1) % 2])
    with pytest.raises(InvalidProvenance, match="at most 64 links"):
        check_chain(chain.texts, known)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", {}),
        ("number", "1"),
        ("previous", "x"),
        ("from", 7),
        ("to", "no label"),
        ("to_key", "short"),
        ("manifest", "A" * 128),
        ("at", "yesterday"),
        ("to", A.spelling),
    ],
)
def test_what_is_signed_has_to_be_understood(name: str, value: object) -> None:
    claims = {
        "labels": {"rep": str(ITEM.rep)},
        "number": 1,
        "previous": None,
        "from": A.spelling,
        "to": B.spelling,
        "to_key": str(KEYS[B].public),
        "manifest": MANIFEST,
        "at": str(NOON),
    }
    assert check_chain([sign_statement("release", claims, KEYS[A])], known).successors == (B,)
    with pytest.raises(InvalidProvenance):
        check_chain([sign_statement("release", claims | {name: value}, KEYS[A])], known)


@pytest.mark.parametrize("text", ["", "a.b.c", "x" * 10_000, "…"])
def test_what_is_no_statement_is_refused(text: str) -> None:
    with pytest.raises(InvalidProvenance):
        check_chain([text], known)


def test_links_are_files_in_their_order() -> None:
    chain = moved(NO_CHAIN, A, B)
    assert [decode_link(encode_link(link)) for link in chain.links] == list(chain.texts)
    assert link_paths(["item.json", link_path(2), link_path(1), link_path(4), "doc/provenance/3.json"]) == [
        "provenance/1.json",
        "provenance/2.json",
    ]


def test_a_manifest_is_the_item_and_its_files_alone() -> None:
    files = {"item.json": "a" * 128, "doc/x": "b" * 128}
    assert manifest_digest(files) == manifest_digest(files | {"local.json": "c" * 128, "provenance/1.json": "d" * 128})
    assert manifest_digest(files) != manifest_digest(files | {"doc/y": "b" * 128})
