"""Languages: their codes, and the codes of countries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ibi.standard.errors import InvalidInput

# R Table B.1, idioma. The table names `sk` twice (E28). It has all of the 183 codes that ISO 639-1 has today, and one
# more, `bh`, which ISO has withdrawn since: links with it stay valid.
_APPENDIX_B_LANGUAGES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
    ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
    nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so
    sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""

# Codes that ISO has and the appendix has not (E28): only `sh`, withdrawn from ISO 639-1 before the appendix was
# written, but still given by ISO 639-3 as the two letters of Serbo-Croatian (`hbs`).
_ISO_LANGUAGES = "sh"

# ISO 639-2: BCP 47 requires the two-letter code of a language that has one (RFC 5646 §2.2.1).
_THREE_LETTERS = """
    aar:aa abk:ab afr:af aka:ak alb:sq amh:am ara:ar arg:an arm:hy asm:as ava:av ave:ae aym:ay aze:az bak:ba
    bam:bm baq:eu bel:be ben:bn bis:bi bod:bo bos:bs bre:br bul:bg bur:my cat:ca ces:cs cha:ch che:ce chi:zh
    chu:cu chv:cv cor:kw cos:co cre:cr cym:cy cze:cs dan:da deu:de div:dv dut:nl dzo:dz ell:el eng:en epo:eo
    est:et eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fre:fr fry:fy ful:ff geo:ka ger:de gla:gd gle:ga
    glg:gl glv:gv gre:el grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy
    ibo:ig ice:is ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn
    kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku lao:lo lat:la
    lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mac:mk mah:mh mal:ml mao:mi mar:mr may:ms mkd:mk mlg:mg
    mlt:mt mol:ro mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb
    nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa per:fa pli:pi pol:pl por:pt pus:ps que:qu roh:rm
    ron:ro rum:ro run:rn rus:ru sag:sg san:sa scc:sr scr:hr sin:si slk:sk slo:sk slv:sl sme:se smo:sm sna:sn
    snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv tah:ty tam:ta tat:tt tel:te
    tgk:tg tgl:tl tha:th tib:bo tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw uig:ug ukr:uk urd:ur uzb:uz
    ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
"""

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

TWO_LETTERS: Final[Mapping[str, str]] = dict(pair.split(":") for pair in _THREE_LETTERS.split())
"""The two-letter codes of languages, by their three-letter codes."""

# R Table 8.4: idioma = 2ALFAMI; país = 2ALFAMA. Read in any case. Three letters are an extension, which other
# implementations treat as an unknown name (E28).
_TAG = re.compile(r"([A-Za-z]{2,3})(?:-([A-Za-z]{2}))?")
_LANGUAGE = re.compile("[a-z]{2,3}")
_COUNTRY = re.compile("[A-Z]{2}")


class InvalidLanguageTag(InvalidInput):
    """{quoted} is not a language: {reason}."""

    code = "invalid-language-tag"


@dataclass(frozen=True, slots=True)
class LanguageTag:
    """A language in two or three lower-case letters, and perhaps its country in two upper-case letters."""

    language: str
    country: str | None = None

    def __post_init__(self) -> None:
        language, country = self.language, self.country
        if not (_LANGUAGE.fullmatch(language) and (country is None or _COUNTRY.fullmatch(country))):
            raise InvalidLanguageTag(
                str(self), 0, "a language is two or three lower case letters, a country two upper case ones"
            )

    @classmethod
    def parse(cls, text: str, *, registered: bool) -> LanguageTag:
        """Parse a tag in any case. A language with a two-letter code gets that code.

        `registered` allows only two-letter codes of Appendix B or ISO; otherwise any letters are allowed (E28).
        """
        match = _TAG.fullmatch(text)
        if match is None:
            raise InvalidLanguageTag(
                text, 0, "a language is two or three letters, perhaps with a country, as in pt or pt-BR"
            )
        language, country = match.groups()
        tag = cls(TWO_LETTERS.get(language.lower(), language.lower()), country and country.upper())
        if registered:
            tag._check_registered(text)
        return tag

    @property
    def is_registered(self) -> bool:
        """True if Appendix B or ISO has both the language and the country.

        Any three letters count: ISO has some eight thousand such codes, and adds to them every year.
        """
        return self._has_known_language and (self.country is None or self.country in COUNTRIES)

    @property
    def _has_known_language(self) -> bool:
        return len(self.language) == 3 or self.language in LANGUAGES

    def _check_registered(self, text: str) -> None:
        if not self._has_known_language:
            raise InvalidLanguageTag(text, 0, "there is no language {language}", language=self.language)
        if not self.is_registered:
            raise InvalidLanguageTag(text, text.index("-") + 1, "there is no country {country}", country=self.country)

    def __str__(self) -> str:
        return self.language if self.country is None else f"{self.language}-{self.country}"
