"""R Table B.1: the languages and countries of translations."""

from __future__ import annotations

from collections import Counter

import pytest

from ibi.standard.languages import COUNTRIES, LANGUAGES, LanguageTag

# As printed: `sk` stands twice
LANGUAGE_RULE = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
    ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
    nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sk sl sm sn
    so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
COUNTRY_RULE = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
    FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
    JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
    MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
    PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
    TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
PRINTED_LANGUAGES = LANGUAGE_RULE.split()
PRINTED_COUNTRIES = COUNTRY_RULE.split()


def test_the_table_prints_184_languages_one_of_them_twice() -> None:
    assert len(set(PRINTED_LANGUAGES)) == 184
    assert [code for code, times in Counter(PRINTED_LANGUAGES).items() if times > 1] == ["sk"]


def test_the_table_prints_249_countries() -> None:
    assert len(set(PRINTED_COUNTRIES)) == len(PRINTED_COUNTRIES) == 249


def test_every_language_of_the_table_is_known() -> None:
    assert set(PRINTED_LANGUAGES) <= LANGUAGES


def test_every_country_of_the_table_is_known() -> None:
    assert set(PRINTED_COUNTRIES) <= COUNTRIES


@pytest.mark.parametrize("tag", ["pt", "pt-BR", "wa", "zh-TW", "sk-SK"])
def test_a_tag_is_a_language_and_perhaps_a_country(tag: str) -> None:
    assert str(LanguageTag.parse(tag, registered=True)) == tag
