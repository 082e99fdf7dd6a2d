"""Languages as the standard writes them: `pt`, or `pt-BR` with a country (R Table B.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ibi.errors import InvalidInput

# R Table B.1, idioma. The table names `sk` twice (E28). It lacks none of the 183 codes that ISO 639-1 has today, and
# has one more, `bh`, which ISO has withdrawn since: links with it stay good.
_APPENDIX_B_LANGUAGES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
    ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
    nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so
    sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""

# What ISO has and the appendix has not (E28): `sh` alone, withdrawn from ISO 639-1 before the appendix was written, but
# still given by ISO 639-3 as the two letters of Serbo-Croatian (`hbs`).
_ISO_LANGUAGES = "sh"

# R Table B.1, país: all 249 codes that ISO 3166-1 has today; it has added none since (E28).
_APPENDIX_B_COUNTRIES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
    FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
    JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
    MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
    PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
    TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""

LANGUAGES: frozenset[str] = frozenset(f"{_APPENDIX_B_LANGUAGES} {_ISO_LANGUAGES}".split())
COUNTRIES: frozenset[str] = frozenset(_APPENDIX_B_COUNTRIES.split())

# R Table 8.4: idioma = 2ALFAMI; país = 2ALFAMA. Read in any case.
_TAG = re.compile(r"([A-Za-z]{2})(?:-([A-Za-z]{2}))?")
_LANGUAGE = re.compile("[a-z]{2}")
_COUNTRY = re.compile("[A-Z]{2}")


class InvalidLanguageTag(InvalidInput):
    """{quoted} is not a language: {reason}."""

    code = "invalid-language-tag"


@dataclass(frozen=True, slots=True)
class LanguageTag:
    """A language, and perhaps the country it is spoken in: two lower case letters, two upper case letters."""

    language: str
    country: str | None = None

    def __post_init__(self) -> None:
        language, country = self.language, self.country
        if not (_LANGUAGE.fullmatch(language) and (country is None or _COUNTRY.fullmatch(country))):
            raise InvalidLanguageTag(
                str(self), 0, "a language is two lower case letters, a country two upper case ones"
            )

    @classmethod
    def parse(cls, text: str, *, registered: bool) -> LanguageTag:
        """Read a tag in any case. `registered`: only those of Appendix B or ISO; otherwise any letters (E28)."""
        match = _TAG.fullmatch(text)
        if match is None:
            raise InvalidLanguageTag(text, 0, "a language is two letters, perhaps with a country, as in pt or pt-BR")
        language, country = match.groups()
        tag = cls(language.lower(), country and country.upper())
        if registered:
            tag._check_registered(text)
        return tag

    @property
    def is_registered(self) -> bool:
        """Whether Appendix B or ISO knows both the language and the country."""
        return self.language in LANGUAGES and (self.country is None or self.country in COUNTRIES)

    def _check_registered(self, text: str) -> None:
        if self.language not in LANGUAGES:
            raise InvalidLanguageTag(text, 0, "there is no language {language}", language=self.language)
        if not self.is_registered:
            raise InvalidLanguageTag(text, 3, "there is no country {country}", country=self.country)

    def __str__(self) -> str:
        return self.language if self.country is None else f"{self.language}-{self.country}"
