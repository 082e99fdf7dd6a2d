"""The sentences for a refused label, in full."""

from __future__ import annotations

import pytest

from ibi import InvalidLabel
from ibi.standard.label.diagnosis import check_host, explain, explain_ibip, explain_repository_name


def test_a_librarian_is_told_what_does_not_exist() -> None:
    error = explain("sid.inpe.br/mtc-m18/2009/02.30.17.46")
    assert str(error) == "'sid.inpe.br/mtc-m18/2009/02.30.17.46' is not an IBI: 30 February does not exist."
    assert error.offset == len("sid.inpe.br/mtc-m18/2009/02.")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("sid.inpe.br/mtc-m18/2009/02.16.17.4", "4"),
        ("sid.inpe.br/mtc-m18/2009/02.16.25.46", "25.46"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.61", "61"),
        ("sid.inpe.br/mtc-m18/2009/02.16.17.46.01.x", "x"),
        ("sid.inpe.br/mtc-m18/209/02.16.17.46", "209/"),
        ("sid.inpe.br/mtc-m18.x/2009/02.16.17.46", "x/2009"),
        ("sid.inpe.br/mtc+m18/2009/02.16.17.46", "+m18"),
        ("sid.inpe.br/-m18/2009/02.16.17.46", "-m18"),
        ("sid.in_pe.br/mtc-m18/2009/02.16.17.46", "_pe"),
        ("sid..br/mtc-m18/2009/02.16.17.46", ".br"),
        ("sid.inpe.7r/mtc-m18/2009/02.16.17.46", "7r"),
        ("sid.inpe.br//2009/02.16.17.46", "/2009"),
        ("8JMKD3MGP8W/34PGR0S", "0S"),
        ("8JMKD3MIP8W/34PGRBS", "IP8W"),
        ("8JMKD3MGP8W2/34PGRBS", "2/34"),
        ("8JMKD3MGP8W/2PGRBS", "2PGRBS"),
        ("8JMKD3MGP8W/34PGRBSW", ""),
        ("8JMKD3MGP8W/34PGRBSWC", "C"),
        ("8JMKD3MGP8W/34PGRBS ", " "),
        (" 8JMKD3MGP8W/34PGRBS", " 8J"),
        ("8JMKD3MGP8W/", ""),
    ],
)
def test_the_offset_points_at_what_is_wrong(text: str, place: str) -> None:
    error = explain(text)
    assert text[error.offset :].startswith(place), f"{error}: {text[error.offset :]!r}"
    assert place or error.offset == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "/",
        "//",
        "///",
        ".",
        "a.b/c/d/e",
        "W/",
        "/W",
        "W/W",
        "X/3",
        "3W/3",
        "\ud800",
        "\0",
        "a" * 321,
        "W" * 100,
    ],
)
def test_whatever_it_is_given_it_explains(text: str) -> None:
    for reason in (explain, explain_repository_name, explain_ibip):
        error = reason(text)
        assert isinstance(error, InvalidLabel)
        assert 0 <= error.offset <= len(text)
        assert len(str(error).splitlines()) == 1
        assert "{" not in str(error)


@pytest.mark.parametrize("text", ["8JMKD3MGP8W/34PGRBS.", "8JMKD3MGP8W/34PGRBS.pdf", "8JMKD3MGP8W.80/34PGRBS"])
def test_an_ibip_with_a_dot_is_not_told_that_it_has_two_parts(text: str) -> None:
    """Two parts are what an IBIp has: the dot is what is wrong with it."""
    error = explain(text)
    assert "four parts" not in str(error), str(error)
    assert text[error.offset] == "."


@pytest.mark.parametrize("text", ["sid.inpe.br/mtc-m18.0/2009/02.16.17.46", "sid.inpe.br/mtc-m18@0/2009/02.16.17.46"])
def test_port_0_is_not_told_of_leading_zeros(text: str) -> None:
    assert "leading" not in str(explain(text))


def test_a_long_text_is_quoted_in_part() -> None:
    assert len(str(explain("a" * 100_000))) < 300


@pytest.mark.parametrize("host", ["www.urlib.net", "a.b", "1.2.c", "xn--bcher-kva.example"])
def test_a_host_that_is_one_passes(host: str) -> None:
    check_host(host)
