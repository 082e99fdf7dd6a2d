"""Other names of an item."""

from __future__ import annotations

import pytest

from ibi.items.model.description_values import (
    MOST_ALTERNATES,
    Alternate,
    checked_alternates,
    make_alternate,
    parse_alternate,
)
from ibi.standard.document_errors import InvalidItem


@pytest.mark.parametrize(
    ("text", "scheme", "value"),
    [
        ("ibi:83LX3pFwXQZ5Jpy/Bkjzd", "ibi", "83LX3pFwXQZ5Jpy/Bkjzd"),
        ("IBI:6qtX3pFwXQZ3P8SECKy/Gk4Ky", "ibi", "6qtX3pFwXQZ3P8SECKy/Gk4Ky"),
        ("doi:10.1000/182", "doi", "10.1000/182"),
        ("doi:https://doi.org/10.1000/A(b)", "doi", "10.1000/A(b)"),
        ("DOI:doi:10.1000/182", "doi", "10.1000/182"),
        ("ark:/12148/btv1b8449691v", "ark", "12148/btv1b8449691v"),
        ("ark:12148/btv1b8449691v", "ark", "12148/btv1b8449691v"),
        ("ark:https://ark.bnf.fr/ark:/12148/btv1b8449691v", "ark", "12148/btv1b8449691v"),
        ("hdl:20.1000/100", "hdl", "20.1000/100"),
        ("url:http://a.br/x?y=1", "url", "http://a.br/x?y=1"),
        ("https://a.br/x", "url", "https://a.br/x"),
        ("isbn:978-3-16-148410-0", "isbn", "978-3-16-148410-0"),
    ],
)
def test_a_name_is_recorded_in_one_spelling(text: str, scheme: str, value: str) -> None:
    assert parse_alternate(text) == Alternate(scheme, value)
    assert parse_alternate(str(Alternate(scheme, value))) == Alternate(scheme, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "doi",
        "doi:",
        "doi:11.1000/182",
        "doi:10.1000/a b",
        "ark:x",
        "hdl:x",
        "url:ftp://a.br/",
        "url:javascript:alert(1)",
        "ibi:abc/def",
        "ibi:ABC/DEF",
        "ibi:Ab",
        "ibi:lab.br/arq/2020/01.02.03.04",
        "ibi:8JMKD3MGP8W/34UkRk5",
        "Two words:x",
        "x\ny:z",
        "x:\x00",
        "x:\ud800",
        f"x:{'a' * 2049}",
        f"{'x' * 33}:a",
    ],
)
def test_what_is_no_name_of_its_scheme_is_refused(text: str) -> None:
    with pytest.raises(InvalidItem) as refusal:
        parse_alternate(text)
    assert refusal.value.details["field"] == "alternates"
    assert len(str(refusal.value)) < 500


def test_two_spellings_of_one_name_have_one_key() -> None:
    assert make_alternate("doi", "10.1000/AbC").key == make_alternate("doi", "10.1000/aBc").key
    assert make_alternate("ark", "12148/btv-1b").key == make_alternate("ark", "12148/btv1b").key
    assert make_alternate("ibi", "83LX3pFwXQZ5Jpy/Bkjzd").key != make_alternate("ibi", "83LX3pFwXQZ5Jpy/BkjzD").key


def test_an_item_has_a_bounded_number_of_them_each_once() -> None:
    many = [Alternate("x", str(number)) for number in range(MOST_ALTERNATES)]
    assert checked_alternates([*many, *many]) == tuple(many)
    with pytest.raises(InvalidItem):
        checked_alternates([*many, Alternate("y", "z")])
