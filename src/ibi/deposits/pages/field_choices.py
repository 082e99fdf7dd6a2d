"""Choices for the fields of a description, in the language of the page: types, licences, languages and relations.

`type_choices`, `licence_choices` and `language_choices` fill a `<select>` or a list of suggestions. `find_language`
reads typed text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ibi.deposits.rules.drafts import MOST_REASON, is_over
from ibi.items.model.description_values import RelationKind
from ibi.items.model.item_types import coar_types
from ibi.items.rules.licences import KnownLicence, LicenceGroup, LicenceTerm, common_licences, known_licences
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.languages import LANGUAGES, InvalidLanguageTag, LanguageTag
from ibi.web.reader import PAGE_LANGUAGES, language_name, locale_of, message, translations


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One choice of a field."""

    value: str
    """The value that a form sends and a record keeps."""
    label: str
    """Its name in the language of the page."""
    detail: str = ""
    """A sentence that explains it."""
    group: str = ""
    """The heading above it."""
    depth: int = 0
    """Its level of indentation."""
    url: str = ""
    """A page with more about it."""


TERM_WORDS: Final[Mapping[LicenceTerm, str]] = {
    LicenceTerm.FREE: message("Anyone may use, change and share it."),
    LicenceTerm.UNCHANGED: message("Anyone may share it, but only unmodified."),
    LicenceTerm.PUBLIC_DOMAIN: message("No rights are reserved."),
    LicenceTerm.ATTRIBUTION: message("The authors must be credited."),
    LicenceTerm.SHARE_ALIKE: message("Derived works must be shared under the same terms."),
    LicenceTerm.NON_COMMERCIAL: message("Not for commercial purposes."),
    LicenceTerm.NOTICE: message("Its notice of copyright and licence has to stay with it."),
    LicenceTerm.OPEN_SOURCE: message("Programs that contain it have to be given with their source, on the same terms."),
    LicenceTerm.OPEN_LIBRARY: message(
        "Changes to it have to be given with their source; programs that use it need not be."
    ),
    LicenceTerm.OPEN_SERVICE: message("Those who run it as a service have to give its source to their users."),
    LicenceTerm.PATENTS: message("Patents of its contributors that it needs may be used."),
    LicenceTerm.DATABASE: message("It is intended for databases."),
}
_GROUPS: Final[Mapping[LicenceGroup, str]] = {
    LicenceGroup.WORKS: message("For texts, images, data and other works"),
    LicenceGroup.DATA: message("For databases"),
    LicenceGroup.SOFTWARE: message("For software"),
}
RELATION_WORDS: Final[Mapping[RelationKind, str]] = {
    RelationKind.IS_SUPPLEMENT_TO: message("It is a supplement to"),
    RelationKind.IS_SUPPLEMENTED_BY: message("It is supplemented by"),
    RelationKind.CITES: message("It cites"),
    RelationKind.IS_CITED_BY: message("It is cited by"),
    RelationKind.REFERENCES: message("It refers to"),
    RelationKind.IS_REFERENCED_BY: message("It is referred to by"),
    RelationKind.IS_PART_OF: message("It is part of"),
    RelationKind.HAS_PART: message("It has as a part"),
    RelationKind.IS_PUBLISHED_IN: message("It is published in"),
    RelationKind.IS_VERSION_OF: message("It is a version of"),
    RelationKind.HAS_VERSION: message("It has a version"),
    RelationKind.IS_NEW_VERSION_OF: message("It is a newer version of"),
    RelationKind.IS_PREVIOUS_VERSION_OF: message("It is an earlier version of"),
    RelationKind.IS_DERIVED_FROM: message("It is derived from"),
    RelationKind.IS_SOURCE_OF: message("It is the source of"),
    RelationKind.IS_DESCRIBED_BY: message("It is described by"),
    RelationKind.DESCRIBES: message("It describes"),
    RelationKind.IS_DOCUMENTED_BY: message("It is documented by"),
    RelationKind.DOCUMENTS: message("It documents"),
    RelationKind.HAS_METADATA: message("It has metadata"),
    RelationKind.IS_METADATA_FOR: message("It is metadata of"),
    RelationKind.CONTINUES: message("It continues"),
    RelationKind.IS_CONTINUED_BY: message("It is continued by"),
    RelationKind.REVIEWS: message("It reviews"),
    RelationKind.IS_REVIEWED_BY: message("It is reviewed by"),
    RelationKind.IS_TRANSLATION_OF: message("It is a translation of"),
    RelationKind.HAS_TRANSLATION: message("It has a translation"),
    RelationKind.COMPILES: message("It compiles"),
    RelationKind.IS_COMPILED_BY: message("It is compiled by"),
    RelationKind.COLLECTS: message("It collects"),
    RelationKind.IS_COLLECTED_BY: message("It is collected by"),
    RelationKind.REQUIRES: message("It needs"),
    RelationKind.IS_REQUIRED_BY: message("It is needed by"),
    RelationKind.OBSOLETES: message("It replaces"),
    RelationKind.IS_OBSOLETED_BY: message("It is replaced by"),
    RelationKind.IS_VARIANT_FORM_OF: message("It is another form of"),
    RelationKind.IS_ORIGINAL_FORM_OF: message("It is the original form of"),
    RelationKind.IS_IDENTICAL_TO: message("It is the same as"),
}
"""The most frequent come first."""
_FIRST_LANGUAGES: Final = ("pt-BR", "pt", "en", "es", "fr", "de", "it")


@lru_cache
def type_choices(language: str) -> tuple[FieldChoice, ...]:
    """Return the COAR resource types. The value is the code, for `find_coar_type`."""
    chosen = []
    for each in coar_types():
        if each.depth == 0:
            group = each.label(language)
        chosen.append(FieldChoice(each.code, each.label(language), group=group, depth=each.depth, url=each.uri))
    return tuple(chosen)


@lru_cache
def licence_choices(language: str, *, every: bool = False) -> tuple[FieldChoice, ...]:
    """Return SPDX licences with their terms; the value is the identifier. List the usual ones, or `every` known one."""
    return tuple(_licence_choice(each, language) for each in (known_licences() if every else common_licences()))


def _licence_choice(known: KnownLicence, language: str) -> FieldChoice:
    return FieldChoice(
        known.id, known.name, terms_in_words(known, language), _gettext(language, _GROUPS[known.group]), url=known.url
    )


def terms_in_words(known: KnownLicence, language: str) -> str:
    """Return the permissions and conditions of the licence, in sentences."""
    return " ".join(_gettext(language, TERM_WORDS[term]) for term in known.terms)


@lru_cache
def language_choices(language: str) -> tuple[FieldChoice, ...]:
    """Return languages by name; the value is the tag. Frequent languages come first, then all others by name."""
    names = locale_of(language).languages
    first = [FieldChoice(tag, language_name(tag, language)) for tag in _FIRST_LANGUAGES]
    others = [FieldChoice(tag, names[tag]) for tag in LANGUAGES - {*_FIRST_LANGUAGES} if tag in names]
    return (*first, *sorted(others, key=lambda each: _fold(each.label)))


def find_language(text: str) -> LanguageTag:
    """Return the language that a text names, by its tag or by its name in one of the page languages."""
    try:
        return LanguageTag.parse(text.strip(), registered=True)
    except InvalidInput:
        tag = _names().get(_fold(" ".join(text.split()))) if len(text) < 100 else None
        if tag is None:
            reason = "a language is chosen from the list, or written as a tag such as pt-BR"
            raise InvalidLanguageTag(text[:100], 0, reason) from None
        return LanguageTag.parse(tag, registered=True)


@lru_cache
def _names() -> dict[str, str]:
    """Return tags by name, in all page languages."""
    return {_fold(each.label): each.value for page in PAGE_LANGUAGES for each in language_choices(page)}


def _fold(text: str) -> str:
    """Return the text without accents and case, to sort names and to compare typed text."""
    return "".join(sign for sign in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(sign))


def _gettext(language: str, words: str) -> str:
    return str(translations(language).gettext(words))


IMPORT_REASONS: Final = (
    message("it is neither BibTeX nor RIS nor JSON"),
    message("it is a DOI alone; paste the record that doi.org gives for it, as BibTeX, RIS or JSON"),
    message("it has neither a title nor authors"),
    message("it has more than {most} values"),
    message("it is longer than {most} characters"),
    message("there are more than {most} entries"),
    message("there is no entry such as @article{{…}} in it"),
    message("no line begins a record, as TY  - JOUR does"),
    message("it begins like JSON, and is none"),
    message("there is no record of a work in it"),
    message("a brace is not closed (line {line})"),
    message("a quotation mark is not closed (line {line})"),
    message("a value stands in braces or quotation marks (line {line})"),
    message("after the name of a field comes = (line {line})"),
    message("a field looks like title = {{On naming things}} (line {line})"),
    message("an entry has too many fields (line {line})"),
    message("with its abbreviations written out it is too long (line {line})"),
    message("a language is chosen from the list, or written as a tag such as pt-BR"),
)
"""Reasons why a pasted record or a language cannot be read. A test compares them with the code."""

VALUE_REASONS: Final = (
    message("{field} is empty"),
    message("{field} has more than {most} characters"),
    message("{field} has at most {most} values"),
    message("{field} holds a character that cannot be shown"),
    message("an ORCID iD has sixteen digits, as in 0000-0002-1825-0097"),
    message("the last digit of this ORCID iD does not fit the others"),
    message("a ROR identifier has nine characters, as in https://ror.org/04xbn6x09"),
    message("the last two digits of this ROR identifier do not fit the rest"),
    message("a licence is an SPDX identifier such as CC-BY-4.0, or a URL"),
    message("SPDX lists no licence of that name: give another, or the URL of the terms"),
    message("a date looks like 2027, 2027-01 or 2027-01-31, and an interval like 2026/2027-01"),
    message("there is no month {number}"),
    message("that month has no day {number}"),
    message("the interval ends before it begins"),
    message("a place has a name or degrees"),
    message("a box has four numbers: west, south, east, north"),
    message("degrees are a number between -{most} and {most}, as in -23.21"),
    message("the south of a box is north of its north"),
    message("a DOI looks like 10.1000/182"),
    message("an ARK looks like 12148/btv1b8449691v"),
    message("a handle looks like 20.1000/100"),
    message("another name has between 1 and {most} characters"),
    message("another name holds neither spaces nor characters that cannot be shown"),
    message("a scheme is a word such as doi, of at most 32 letters and digits in lower case"),
    message("a URL begins with http:// or https://"),
    message("a network looks like 150.163.0.0/16 or 2001:db8::/32"),
    message("write IPv4 as IPv4, and an address without a scope"),
)
"""Reasons why a value of a description is refused. A test compares them with the code."""


LONG_REASON: Final = message("The reason is longer than 10,000 characters.")
_PAST_DAY: Final = message("This date is in the past: leave it empty for no embargo.")
_REASON_ALONE: Final = message("A reason needs an embargo: enter its end date.")


class ActRefused(IbiError):
    """{reason}"""

    code = "act-refused"
    kind = ErrorKind.MALFORMED

    def message(self, translate: Callable[[str], str] = str) -> str:
        return translate(str(self.parameters["reason"]))


def check_embargo_day(day: Instant | None, now: Instant) -> None:
    """Raise `ActRefused` if the embargo would already be over."""
    if is_over(day, now):
        raise ActRefused(reason=_PAST_DAY)


def check_embargo_reason(reason: str, embargo: str) -> None:
    """Raise `ActRefused` for a reason without an embargo, or for one that is too long."""
    if reason and not embargo:
        raise ActRefused(reason=_REASON_ALONE)
    if len(reason) > MOST_REASON:
        raise ActRefused(reason=LONG_REASON)
