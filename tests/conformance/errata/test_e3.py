"""E3: `host@80`, `host.80` and `host` all parse; only `.` is generated; they are different labels, never merged."""

from __future__ import annotations

from itertools import combinations

import pytest

from ibi import Instant, RepositoryName

SPELLINGS = [
    "sid.inpe.br/mtc-m18/2009/02.16.17.46",
    "sid.inpe.br/mtc-m18.80/2009/02.16.17.46",
    "sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_each_parses_and_stays_as_it_is(text: str) -> None:
    label = RepositoryName.parse(text)
    assert str(label) == text
    assert (label.host, label.port) == ("mtc-m18.sid.inpe.br", 80)


@pytest.mark.parametrize(("one", "other"), list(combinations(SPELLINGS, 2)))
def test_names_with_and_without_a_port_are_different_labels(one: str, other: str) -> None:
    assert RepositoryName.parse(one) != RepositoryName.parse(other)
    assert len({RepositoryName.parse(one), RepositoryName.parse(other)}) == 2


@pytest.mark.parametrize(("one", "other"), list(combinations(SPELLINGS, 2)))
def test_their_order_is_that_of_their_prefixes(one: str, other: str) -> None:
    labels = RepositoryName.parse(one), RepositoryName.parse(other)
    assert (labels[0] < labels[1]) == (labels[0].prefix < labels[1].prefix)


def test_an_at_sign_and_a_dot_before_another_port_differ_too() -> None:
    dot = RepositoryName.parse("sid.inpe.br/mtc-m18.81/2009/02.16.17.46")
    at_sign = RepositoryName.parse("sid.inpe.br/mtc-m18@81/2009/02.16.17.46")
    assert dot != at_sign


def test_only_a_dot_is_generated() -> None:
    assert RepositoryName.from_parts("mtc-m18.sid.inpe.br", 81, Instant(0)).prefix == "sid.inpe.br/mtc-m18.81"


def test_port_80_is_generated_without_a_port() -> None:
    assert RepositoryName.from_parts("mtc-m18.sid.inpe.br", 80, Instant(0)).prefix == "sid.inpe.br/mtc-m18"
