"""The repository name as a value."""

from __future__ import annotations

import pytest

import ibi
from ibi import Instant, InvalidLabel, RepositoryName
from ibi.label.label import canonical_prefix

TEXT = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"


def test_a_repository_name_has_the_parts_of_its_text() -> None:
    label = RepositoryName.parse(TEXT)
    assert label.form == "rep"
    assert label.prefix == "sid.inpe.br/mtc-m18@80"
    assert label.suffix == "2009/02.16.17.46"
    assert label.host == "mtc-m18.sid.inpe.br"
    assert label.port == 80
    assert label.instant == Instant(1234806360)
    assert label.is_global
    assert repr(label) == f"RepositoryName.parse({TEXT!r})"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("br/inpe/2009/02.16.17.46", "inpe.br", 80),
        ("br/inpe.8080/2009/02.16.17.46", "inpe.br", 8080),
        ("br/inpe@8080/2009/02.16.17.46", "inpe.br", 8080),
        ("localhost/ibi.8765/2026/01.01.00.00", "ibi.localhost", 8765),
        ("b/80/2009/02.16.17.46", "80.b", 80),
        ("b/80.81/2009/02.16.17.46", "80.b", 81),
    ],
)
def test_host_and_port(text: str, host: str, port: int) -> None:
    label = RepositoryName.parse(text)
    assert (label.host, label.port) == (host, port)


def test_the_spelling_is_kept_and_the_text_is_canonical() -> None:
    label = RepositoryName.parse("SID.INPE.br./MTC-m18@80/2009/02.16.17.46.00.0")
    assert label.spelling == "SID.INPE.br./MTC-m18@80/2009/02.16.17.46.00.0"
    assert str(label) == TEXT
    assert label == RepositoryName.parse(TEXT)


def test_a_host_whose_label_would_read_as_an_ibip_gets_none() -> None:
    """E17: two segments that are an IBIp are one."""
    with pytest.raises(InvalidLabel, match="IBIp"):
        RepositoryName.from_parts("362sfkh.lk47b6w", 80, Instant(0))


def test_a_label_that_reads_as_an_ibip_and_a_path_is_no_repository_name() -> None:
    for text in ("LK47B6W/362SFKH/2010/08.25.12.38", "lk47b6w./362sfkh/2010/08.25.12.38"):
        with pytest.raises(InvalidLabel, match="path"):
            RepositoryName.parse(text)


def test_a_host_that_only_resembles_an_ibip_gets_a_label() -> None:
    for host in ("362sfkh.lk47b6", "362sfkh.x.lk47b6w", "362sfki.lk47b6w"):
        label = RepositoryName.from_parts(host, 80, Instant(0))
        assert ibi.parse(str(label)) == label


def test_long_texts_are_not_kept_in_memory() -> None:
    """Prefixes are remembered; what is too long for one must not be, or four thousand requests fill the memory."""
    canonical_prefix.cache_clear()
    for number in range(5):
        with pytest.raises(InvalidLabel):
            RepositoryName.parse(f"{'a' * 100_000}{number}/x/2009/02.16.17.46")
    assert canonical_prefix.cache_info().currsize == 0


def test_a_label_is_not_made_by_its_class_alone() -> None:
    """Without `parse` or `from_parts` there is nothing to compare, write or order."""
    with pytest.raises(TypeError):
        RepositoryName()
