"""E4: the subdomain's last dot is dropped; words have at most 63 signs, a host 253; ports 1 to 65535; two words."""

from __future__ import annotations

import pytest

from ibi import Instant, InvalidLabel, RepositoryName

DATE = "2010/08.25.12.38"
NOW = Instant(0)


def host_of_length(length: int) -> str:
    """Words of 49 characters and a last one that makes the length."""
    words = ["a" * 49] * 4
    return ".".join([*words, "b" * (length - 200)])


def prefix_of(host: str) -> str:
    word, _, subdomain = host.partition(".")
    return f"{subdomain}/{word}"


def test_a_dot_after_the_subdomain_is_accepted_and_dropped() -> None:
    label = RepositoryName.parse(f"sid.inpe.br./mtc-m19/{DATE}")
    assert label == RepositoryName.parse(f"sid.inpe.br/mtc-m19/{DATE}")
    assert str(label) == f"sid.inpe.br/mtc-m19/{DATE}"
    assert label.spelling == f"sid.inpe.br./mtc-m19/{DATE}"
    assert label.host == "mtc-m19.sid.inpe.br"


def test_the_dot_is_dropped_when_generating() -> None:
    assert str(RepositoryName.from_parts("mtc-m19.sid.inpe.br.", 80, NOW)).startswith("sid.inpe.br/mtc-m19/")


@pytest.mark.parametrize("prefix", ["{}.br/a", "x.{}/a", "{}/a", "x.br/{}", "{}./a"])
def test_a_word_has_at_most_63_characters(prefix: str) -> None:
    RepositoryName.parse(f"{prefix.format('w' * 63)}/{DATE}")
    with pytest.raises(InvalidLabel) as caught:
        RepositoryName.parse(f"{prefix.format('w' * 64)}/{DATE}")
    assert "63" in str(caught.value)


def test_a_host_has_at_most_253_characters() -> None:
    longest = host_of_length(253)
    label = RepositoryName.parse(f"{prefix_of(longest)}/{DATE}")
    assert label.host == longest
    assert len(longest) == 253
    with pytest.raises(InvalidLabel) as caught:
        RepositoryName.parse(f"{prefix_of(host_of_length(254))}/{DATE}")
    assert "253" in str(caught.value)


def test_neither_the_last_dot_nor_the_port_counts_for_the_length_of_the_host() -> None:
    subdomain, word = prefix_of(host_of_length(253)).split("/")
    label = RepositoryName.parse(f"{subdomain}./{word}@65535/{DATE}.59.{'9' * 30}")
    assert len(label.host) == 253


def test_a_host_of_127_words_of_one_letter_is_the_one_with_the_most_words() -> None:
    host = ".".join("a" * 127)
    assert RepositoryName.parse(f"{prefix_of(host)}/{DATE}").host == host
    assert RepositoryName.from_parts(host, 80, NOW).host == host
    with pytest.raises(InvalidLabel):
        RepositoryName.parse(f"{prefix_of('a.' + host)}/{DATE}")


def test_generating_obeys_the_same_lengths() -> None:
    assert RepositoryName.from_parts(host_of_length(253), 80, NOW).host == host_of_length(253)
    for host in (host_of_length(254), f"{'w' * 64}.br", f"www.{'w' * 64}"):
        with pytest.raises(InvalidLabel):
            RepositoryName.from_parts(host, 80, NOW)


@pytest.mark.parametrize("sign", [".", "@"])
@pytest.mark.parametrize("port", ["1", "9", "80", "9999", "10000", "65535"])
def test_a_port_from_1_to_65535_is_read(sign: str, port: str) -> None:
    assert RepositoryName.parse(f"sid.inpe.br/mtc-m19{sign}{port}/{DATE}").port == int(port)


@pytest.mark.parametrize("sign", [".", "@"])
@pytest.mark.parametrize("port", ["0", "00", "080", "65536", "99999", "100000", "1" * 100])
def test_any_other_port_is_refused(sign: str, port: str) -> None:
    with pytest.raises(InvalidLabel) as caught:
        RepositoryName.parse(f"sid.inpe.br/mtc-m19{sign}{port}/{DATE}")
    assert "port" in str(caught.value)
    assert caught.value.offset == len("sid.inpe.br/mtc-m19.")


def test_a_host_needs_two_words() -> None:
    with pytest.raises(InvalidLabel):
        RepositoryName.from_parts("localhost", 80, NOW)
    with pytest.raises(InvalidLabel):
        RepositoryName.from_parts("localhost.", 80, NOW)
    assert RepositoryName.parse(f"br/inpe/{DATE}").host == "inpe.br"


@pytest.mark.parametrize("host", ["\u212a.inpe.br", "www.in\u212ae.br", "\uff41.inpe.br", "\u0131.inpe.br"])
def test_generating_takes_no_letter_beyond_ascii_for_one_within(host: str) -> None:
    """The Kelvin sign becomes an ordinary k when it is made lower case."""
    with pytest.raises(InvalidLabel):
        RepositoryName.from_parts(host, 80, NOW)
