"""G Table 6.1: the rules for the formation of a repository name, corrected by E2, E4 and E8."""

from __future__ import annotations

import pytest

import ibi
from ibi import InvalidLabel, RepositoryName

ACCEPTED = {
    "the_example_of_the_rule_repository": "sid.inpe.br/mtc-m19/2010/08.25.12.38",
    "a_port_after_a_dot": "sid.inpe.br/mtc-m19.8080/2010/08.25.12.38",
    "a_port_after_an_at_sign": "sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
    "a_subdomain_of_one_word": "br/inpe/2010/08.25.12.38",
    "a_subdomain_of_many_words": "a.b.c.d.e.f.g.h.br/x/2010/08.25.12.38",
    "a_subdomain_that_ends_with_a_dot": "sid.inpe.br./mtc-m19/2010/08.25.12.38",
    "words_of_one_letter": "a.b/c/2010/08.25.12.38",
    "words_of_one_digit_before_the_last": "1.2.b/3/2010/08.25.12.38",
    "words_that_begin_and_end_with_digits": "1a1.2-2.br/0x0/2010/08.25.12.38",
    "hyphens_in_a_row_inside_a_word": "xn--bcher-kva.br/a--b/2010/08.25.12.38",
    "a_last_word_with_digits_and_hyphens": "sid.b-2/mtc/2010/08.25.12.38",
    "a_first_word_of_digits": "sid.inpe.br/18/2010/08.25.12.38",
    "seconds": "sid.inpe.br/mtc-m19/2010/08.25.12.38.59",
    "a_fraction_of_a_second": "sid.inpe.br/mtc-m19/2010/08.25.12.38.59.123",
    "port_1": "sid.inpe.br/mtc-m19.1/2010/08.25.12.38",
    "port_65535": "sid.inpe.br/mtc-m19@65535/2010/08.25.12.38",
}

REFUSED = {
    "an_empty_text": "",
    "no_subdomain": "/mtc-m19/2010/08.25.12.38",
    "no_word": "sid.inpe.br//2010/08.25.12.38",
    "no_year": "sid.inpe.br/mtc-m19/08.25.12.38",
    "no_prefix": "2010/08.25.12.38",
    "no_suffix": "sid.inpe.br/mtc-m19",
    "a_fifth_part": "sid.inpe.br/mtc-m19/2010/08.25.12.38/doc",
    "a_slash_at_the_end": "sid.inpe.br/mtc-m19/2010/08.25.12.38/",
    "a_slash_at_the_beginning": "/sid.inpe.br/mtc-m19/2010/08.25.12.38",
    "a_dot_at_the_beginning": ".inpe.br/mtc-m19/2010/08.25.12.38",
    "two_dots_in_the_subdomain": "sid..inpe.br/mtc-m19/2010/08.25.12.38",
    "two_dots_after_the_subdomain": "sid.inpe.br../mtc-m19/2010/08.25.12.38",
    "a_subdomain_that_is_a_dot": "./mtc-m19/2010/08.25.12.38",
    "a_word_that_begins_with_a_hyphen": "sid.-inpe.br/mtc-m19/2010/08.25.12.38",
    "a_word_that_ends_with_a_hyphen": "sid.inpe-.br/mtc-m19/2010/08.25.12.38",
    "a_first_word_that_ends_with_a_hyphen": "sid.inpe.br/mtc-/2010/08.25.12.38",
    "a_first_word_that_is_a_hyphen": "sid.inpe.br/-/2010/08.25.12.38",
    "a_last_word_that_begins_with_a_digit": "sid.inpe.4br/mtc-m19/2010/08.25.12.38",
    "a_subdomain_that_is_a_number": "163.34.243/150/2010/08.25.12.38",
    "an_underscore": "sid.inpe_x.br/mtc-m19/2010/08.25.12.38",
    "a_word_with_a_letter_beyond_ascii": "sid.inpé.br/mtc-m19/2010/08.25.12.38",
    "the_kelvin_sign_for_a_letter": "sid.inpe.br/\u212a/2010/08.25.12.38",
    "arabic_digits": "sid.inpe.br/mtc-m19/\u0662\u0660\u0661\u0660/08.25.12.38",
    "fullwidth_digits": "sid.inpe.br/mtc-m19/2010/08.25.12.\uff13\uff18",
    "an_at_sign_without_a_port": "sid.inpe.br/mtc-m19@/2010/08.25.12.38",
    "a_dot_without_a_port": "sid.inpe.br/mtc-m19./2010/08.25.12.38",
    "a_port_of_letters": "sid.inpe.br/mtc-m19.http/2010/08.25.12.38",
    "a_colon_before_the_port": "sid.inpe.br/mtc-m19:80/2010/08.25.12.38",
    "two_ports": "sid.inpe.br/mtc-m19.80.81/2010/08.25.12.38",
    "two_ports_after_different_signs": "sid.inpe.br/mtc-m19@80.81/2010/08.25.12.38",
    "a_port_in_the_subdomain": "sid.inpe.br@80/mtc-m19/2010/08.25.12.38",
    "a_year_of_two_digits": "sid.inpe.br/mtc-m19/10/08.25.12.38",
    "a_year_of_five_digits": "sid.inpe.br/mtc-m19/02010/08.25.12.38",
    "a_month_of_one_digit": "sid.inpe.br/mtc-m19/2010/8.25.12.38",
    "a_minute_of_one_digit": "sid.inpe.br/mtc-m19/2010/08.25.12.8",
    "no_minute": "sid.inpe.br/mtc-m19/2010/08.25.12",
    "a_second_of_one_digit": "sid.inpe.br/mtc-m19/2010/08.25.12.38.5",
    "an_empty_second": "sid.inpe.br/mtc-m19/2010/08.25.12.38.",
    "an_empty_fraction": "sid.inpe.br/mtc-m19/2010/08.25.12.38.59.",
    "two_fractions": "sid.inpe.br/mtc-m19/2010/08.25.12.38.59.1.2",
    "hyphens_in_the_date": "sid.inpe.br/mtc-m19/2010/08-25-12-38",
    "a_sign_in_the_date": "sid.inpe.br/mtc-m19/2010/+8.25.12.38",
    "an_underscore_in_the_fraction": "sid.inpe.br/mtc-m19/2010/08.25.12.38.59.1_0",
    "a_space_before_it": " sid.inpe.br/mtc-m19/2010/08.25.12.38",
    "a_space_after_it": "sid.inpe.br/mtc-m19/2010/08.25.12.38 ",
    "a_line_feed_after_it": "sid.inpe.br/mtc-m19/2010/08.25.12.38\n",
    "a_nul_in_it": "sid.inpe.br/mtc\x00m19/2010/08.25.12.38",
    "a_backslash_for_a_slash": "sid.inpe.br\\mtc-m19/2010/08.25.12.38",
    "the_modifier_of_a_persistent_url": "sid.inpe.br/mtc-m19/2010/08.25.12.38:",
    "a_tag": "sid.inpe.br/mtc-m19/2010/08.25.12.38-TDI",
    "the_prefix_ibi": "ibi:sid.inpe.br/mtc-m19/2010/08.25.12.38",
    "a_persistent_url": "http://urlib.net/sid.inpe.br/mtc-m19/2010/08.25.12.38",
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_repository_name_may_have(text: str) -> None:
    label = ibi.parse(text)
    assert isinstance(label, RepositoryName)
    assert label == RepositoryName.parse(text)
    assert str(label) == text.replace("br./", "br/")


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_repository_name_may_not_have(text: str) -> None:
    for parse in (ibi.parse, RepositoryName.parse):
        with pytest.raises(InvalidLabel) as caught:
            parse(text)
        assert caught.value.text == text
        assert 0 <= caught.value.offset <= len(text)


def test_an_ibip_is_no_repository_name() -> None:
    with pytest.raises(InvalidLabel):
        RepositoryName.parse("8JMKD3MGP8W/34PGRBS")


def test_a_repository_name_is_case_insensitive() -> None:
    lower = ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    mixed = ibi.parse("sid.INPE.br/MTC-m18@80/2009/02.16.17.46")
    assert lower == mixed
    assert hash(lower) == hash(mixed)
    assert not lower < mixed
    assert not mixed < lower


def test_generation_writes_lower_case() -> None:
    label = RepositoryName.from_parts("MTC-m18.sid.INPE.br", 8080, ibi.Instant(0))
    assert label.prefix == "sid.inpe.br/mtc-m18.8080"


def test_the_four_parts_can_be_four_directories() -> None:
    assert len(str(ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")).split("/")) == 4
