"""The algorithms as functions: what they refuse, and in which words."""

from __future__ import annotations

import pytest

from ibi import Instant, InvalidLabel
from ibi.standard.label import generate


def test_the_module_says_which_function_is_which_algorithm() -> None:
    assert generate.__doc__
    made_here = [each for each in vars(generate).values() if getattr(each, "__module__", "") == generate.__name__]
    public = [each.__name__ for each in made_here if not each.__name__.startswith("_")]
    assert len(public) > 3
    for name in public:
        assert name in generate.__doc__


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("", "missing"),
        ("www..net", "missing"),
        (".urlib.net", "missing"),
        ("urlib", "at least two words"),
        ("www.urlib.4net", "last word"),
        ("127.0.0.1", "last word"),
        ("-www.urlib.net", "hyphen"),
        ("www-.urlib.net", "hyphen"),
        ("www_1.urlib.net", "'_' does not occur"),
        ("www.urlib.net:80", "':' does not occur"),
        ("http://urlib.net", "':' does not occur"),
        ("www.urlib.net ", "' ' does not occur"),
        ("www.urlib.net\n", r"'\\n' does not occur"),
        ("büro.example.org", "'ü' does not occur"),
        (f"{'w' * 64}.urlib.net", "63"),
        (".".join(["w" * 50] * 5 + ["net"]), "253"),
    ],
)
def test_a_host_is_refused_for(host: str, reason: str) -> None:
    with pytest.raises(InvalidLabel, match=reason) as caught:
        generate.mount_prefix_of_repository_name(host, 80)
    assert 0 <= caught.value.offset <= len(caught.value.text)


@pytest.mark.parametrize("port", [0, -1, 65536, 10**9])
def test_a_port_is_refused_in_both_forms(port: int) -> None:
    with pytest.raises(InvalidLabel, match="from 1 to 65535"):
        generate.mount_prefix_of_repository_name("www.urlib.net", port)
    with pytest.raises(InvalidLabel, match="from 1 to 65535"):
        generate.mount_prefix_of_ibip("150.163.34.243", port)


def test_a_port_with_thousands_of_digits_is_refused_like_any_other() -> None:
    """Python refuses to write such a number; the error must not be that of Python."""
    with pytest.raises(InvalidLabel):
        generate.mount_prefix_of_repository_name("www.urlib.net", 10**5000)


@pytest.mark.parametrize(
    ("ip", "reason"),
    [
        ("", "not an IP address"),
        ("urlib.net", "not an IP address"),
        ("1.2.3", "not an IP address"),
        ("01.2.3.4", "not an IP address"),
        ("1.2.3.4\n", "not an IP address"),
        ("::1\n", "not an IP address"),
        ("１.2.3.4", "not an IP address"),
        ("fe80::1%eth0", "scope"),
        ("0.0.0.0", "begins with 0"),
        ("0:1::", "begins with 0"),
    ],
)
def test_an_address_is_refused_for(ip: str, reason: str) -> None:
    with pytest.raises(InvalidLabel, match=reason):
        generate.mount_prefix_of_ibip(ip, 800)


def test_a_date_before_the_first_is_refused_and_named() -> None:
    with pytest.raises(InvalidLabel, match="August 1995") as caught:
        generate.mount_suffix_of_ibip(Instant.parse("1995-07-31T23:59:59Z"))
    assert caught.value.text == "1995-07-31T23:59:59Z"


@pytest.mark.parametrize(
    ("seconds", "fraction", "suffix"),
    [
        (0, "", "1970/01.01.00.00"),
        (1, "", "1970/01.01.00.00.01"),
        (0, "5", "1970/01.01.00.00.00.5"),
        (59, "", "1970/01.01.00.00.59"),
        (3661, "", "1970/01.01.01.01.01"),
        (86399, "999", "1970/01.01.23.59.59.999"),
        (-1, "5", "1969/12.31.23.59.59.5"),
    ],
)
def test_a_suffix_of_a_repository_name_is_as_short_as_its_date(seconds: int, fraction: str, suffix: str) -> None:
    assert generate.mount_suffix_of_repository_name(Instant(seconds, fraction)) == suffix
