"""E1: G Algorithm 1 as written drops the dots of the subdomain; they are kept, as every example does."""

from __future__ import annotations

from ibi import Instant, RepositoryName


def literal_algorithm_1(computer: str) -> str:
    """Lines 1 to 16 as printed, for port 80."""
    part, subdomain, first_word = 2, "", ""
    for character in computer:
        if character == ".":
            part = 1
        elif part == 1:
            subdomain += character
        else:
            first_word += character
    return f"{subdomain}/{first_word}"


def test_as_printed_the_algorithm_contradicts_example_1() -> None:
    assert literal_algorithm_1("mtc-m18.sid.inpe.br") == "sidinpebr/mtc-m18"


def test_the_dots_of_the_subdomain_are_kept() -> None:
    assert RepositoryName.from_parts("mtc-m18.sid.inpe.br", 80, Instant(0)).prefix == "sid.inpe.br/mtc-m18"


def test_hosts_that_differ_in_their_dots_alone_get_different_labels() -> None:
    one = RepositoryName.from_parts("a.bc.de.br", 80, Instant(0))
    other = RepositoryName.from_parts("a.b.cde.br", 80, Instant(0))
    assert one != other
    assert str(one) != str(other)
