"""G Algorithm 1, MOUNTPREFIXOFNAMEOFREPOSITORYOFANITEM, with E1 and E4."""

from __future__ import annotations

import pytest

from ibi import InvalidLabel
from ibi.standard.label.generate import mount_prefix_of_repository_name


def test_a_prefix_parts_the_first_word_from_the_subdomain() -> None:
    assert mount_prefix_of_repository_name("mtc-m18.sid.inpe.br", 80) == "sid.inpe.br/mtc-m18"


def test_the_dots_of_the_subdomain_are_kept() -> None:
    """E1: as printed, line 5 would drop them and give `sidinpebr`."""
    assert mount_prefix_of_repository_name("a.b.c.d.e.br", 80) == "b.c.d.e.br/a"


def test_port_80_is_omitted() -> None:
    assert mount_prefix_of_repository_name("www.urlib.net", 80) == "urlib.net/www"


@pytest.mark.parametrize("port", [1, 79, 81, 800, 8080, 65535])
def test_any_other_port_follows_after_a_dot(port: int) -> None:
    assert mount_prefix_of_repository_name("www.urlib.net", port) == f"urlib.net/www.{port}"


def test_the_computer_is_written_in_lower_case() -> None:
    assert mount_prefix_of_repository_name("WWW.URLib.NET", 80) == "urlib.net/www"


def test_a_final_dot_of_the_computer_is_dropped() -> None:
    assert mount_prefix_of_repository_name("www.urlib.net.", 80) == "urlib.net/www"


@pytest.mark.parametrize(
    "computer", ["", ".", "localhost", "a..b", "150.163.34.243", "www.urlib.net..", "a b.c", "ü.de"]
)
def test_what_is_no_domain_name_is_refused(computer: str) -> None:
    with pytest.raises(InvalidLabel):
        mount_prefix_of_repository_name(computer, 80)


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_what_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(InvalidLabel):
        mount_prefix_of_repository_name("www.urlib.net", port)
