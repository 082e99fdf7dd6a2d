"""Other names of an item (a label of before 2008, a DOI, an ARK, a handle, or a former address), and affiliations,
related identifiers, funding and places.

Input of a depositor is checked by `parse_alternate` as strictly as its scheme allows. Recorded names are bounded and
otherwise accepted as they are: a later version may know the syntax of some scheme better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from ibi.standard.document_errors import InvalidItem, InvalidMetadata
from ibi.standard.errors import InvalidInput
from ibi.standard.label import parse_any
from ibi.standard.messages import values as wire

LEGACY: Final = "ibi"
"""The scheme of labels of before 2008, which carry neither an owner nor a date."""
_OF_ONE_ITEM: Final = frozenset({LEGACY, "doi", "ark", "hdl"})
MOST_ALTERNATES: Final = 100
LONGEST_ALTERNATE: Final = 2048

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}")
_UNNAMEABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
# Case is ignored only in the prefix: over a range of a million characters, that costs each start ten milliseconds.
_DOI = re.compile(r"(?i:https?://(?:dx\.)?doi\.org/|doi:)?(10\.[0-9]{4,9}(?:\.[0-9]+)*/[!-~\u00a1-\U0010fffd]+)")
_ARK = re.compile(r"(?:https?://[^/]{1,255}/)?(?:ark:)?/?([0-9bcdfghjkmnpqrstvwxz]{5,16}/[!-~]+)", re.IGNORECASE)
_HANDLE = re.compile(r"(?i:https?://hdl\.handle\.net/|hdl:)?([0-9]+(?:\.[0-9A-Za-z]+)*/[!-~\u00a1-\U0010fffd]+)")


@dataclass(frozen=True, slots=True, order=True)
class Alternate:
    """A name of a scheme, which is a word in lower case."""

    scheme: str
    value: str

    def __post_init__(self) -> None:
        if not _SCHEME.fullmatch(self.scheme):
            reason = "a scheme is a word such as doi, of at most 32 letters and digits in lower case"
            raise InvalidItem(self.scheme, 0, reason, field="alternates")
        if not self.value or len(self.value) > LONGEST_ALTERNATE:
            reason = "another name has between 1 and {most} characters"
            raise InvalidItem(self.value, 0, reason, field="alternates", most=LONGEST_ALTERNATE)
        strange = _UNNAMEABLE.search(self.value)
        if strange is not None:
            reason = "another name holds neither spaces nor characters that cannot be shown"
            raise InvalidItem(self.value, strange.start(), reason, field="alternates")

    def __str__(self) -> str:
        return f"{self.scheme}:{self.value}"

    @property
    def names_one_item(self) -> bool:
        """True if names of its scheme belong to one thing only. Addresses and other schemes may name several."""
        return self.scheme in _OF_ONE_ITEM

    @property
    def key(self) -> str:
        """The comparison key, equal for two spellings of one name. Labels of before 2008 and addresses have one."""
        match self.scheme:
            case "doi" | "hdl":
                return self.value.lower()
            case "ark":
                return self.value.replace("-", "")
        return self.value


def checked_alternates(alternates: Iterable[Alternate]) -> tuple[Alternate, ...]:
    """Return all of them, each once. Raise `InvalidItem` if there are too many."""
    found = tuple(dict.fromkeys(alternates))
    if len(found) > MOST_ALTERNATES:
        reason = "an item has at most {most} other names"
        raise InvalidItem(str(found[MOST_ALTERNATES]), 0, reason, field="alternates", most=MOST_ALTERNATES)
    return found


def parse_alternate(text: str) -> Alternate:
    """Parse `SCHEME:VALUE`, such as `doi:10.1000/182` or `ibi:83LX3pFwXQZ5Jpy/Bkjzd`."""
    scheme, colon, value = text.strip().partition(":")
    if not colon or not value:
        raise InvalidItem(text, 0, "another name looks like doi:10.1000/182", field="alternates")
    return make_alternate(scheme, value)


def make_alternate(scheme: str, value: str) -> Alternate:
    """Return the name in the recorded spelling of its scheme; raise `InvalidItem` if its scheme does not allow it."""
    scheme, value = scheme.strip().lower(), value.strip()
    if scheme in ("http", "https"):  # an address without the scheme `url:`
        scheme, value = "url", f"{scheme}:{value}"
    Alternate(scheme, value)
    return Alternate(scheme, _READERS.get(scheme, str)(value))


def _legacy_label(value: str) -> str:
    text = value.removeprefix("ibi/")
    try:
        label = parse_any(text)
    except InvalidInput as error:
        reason = "a label of before 2008 looks like 83LX3pFwXQZ5Jpy/Bkjzd, with both cases in one part"
        raise _refusal(value, reason) from error
    if label.is_dated:
        raise _refusal(value, "this is a label of the present standard, which belongs to one item alone")
    return str(label)


def _doi(value: str) -> str:
    return _fitting(_DOI, value, "a DOI looks like 10.1000/182")


def _ark(value: str) -> str:
    return _fitting(_ARK, value, "an ARK looks like 12148/btv1b8449691v")


def _handle(value: str) -> str:
    return _fitting(_HANDLE, value, "a handle looks like 20.1000/100")


def _fitting(pattern: re.Pattern[str], value: str, reason: str) -> str:
    match = pattern.fullmatch(value)
    if match is None:
        raise _refusal(value, reason)
    return match[1]


def _address(value: str) -> str:
    try:
        return wire.url(value)
    except InvalidInput as error:
        raise InvalidItem(value, error.offset, error.reason, field="alternates", **error.details) from error


def _refusal(value: str, reason: str) -> InvalidItem:
    return InvalidItem(value, 0, reason, field="alternates")


_READERS: Final[Mapping[str, Callable[[str], str]]] = {
    LEGACY: _legacy_label,
    "doi": _doi,
    "ark": _ark,
    "hdl": _handle,
    "url": _address,
}


MAX_TEXT: Final = 100_000
"""Most characters of one value; an abstract has some thousands."""

# XML 1.0 cannot represent these, and every harvester reads XML. Tabs and line ends are the only controls it allows.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def checked_text(text: str, element: str) -> str:
    """Return `text`, if it is not blank and can be written anywhere."""
    if not text.strip():
        raise InvalidMetadata(text, 0, "{field} is empty", field=element)
    if len(text) > MAX_TEXT:
        raise InvalidMetadata(text, MAX_TEXT, "{field} has more than {most} characters", field=element, most=MAX_TEXT)
    strange = _UNWRITABLE.search(text)
    if strange is not None:
        raise InvalidMetadata(text, strange.start(), "{field} holds a character that cannot be shown", field=element)
    return text


def check_count(values: Collection[object], most: int, element: str) -> None:
    """Raise `InvalidMetadata` if an element has too many values."""
    if len(values) > most:
        raise InvalidMetadata(element, 0, "{field} has at most {most} values", field=element, most=most)


# ROR, "ROR identifier pattern": a zero, six characters of Crockford's base 32, two check digits
_ROR = re.compile(
    r"(?:(?:https?://)?(?:www\.)?ror\.org/)?(0[a-hj-km-np-tv-z0-9]{6})([0-9]{2})/?", re.IGNORECASE | re.ASCII
)
_CROCKFORD: Final = {sign: value for value, sign in enumerate("0123456789abcdefghjkmnpqrstvwxyz")}


@dataclass(frozen=True, slots=True)
class Ror:
    """The identifier of a research organisation, `04xbn6x09`; its check digits catch typing errors."""

    text: str

    def __post_init__(self) -> None:
        match = _ROR.fullmatch(self.text.strip()) if len(self.text) < 80 else None
        if match is None:
            reason = "a ROR identifier has nine characters, as in https://ror.org/04xbn6x09"
            raise InvalidMetadata(self.text, 0, reason, field="ror")
        number = 0
        for sign in match[1].lower():
            number = number * 32 + _CROCKFORD[sign]
        if 98 - number * 100 % 97 != int(match[2]):  # ISO/IEC 7064 MOD 97-10
            reason = "the last two digits of this ROR identifier do not fit the rest"
            raise InvalidMetadata(self.text, 0, reason, field="ror")
        object.__setattr__(self, "text", f"{match[1]}{match[2]}".lower())

    @property
    def url(self) -> str:
        return f"https://ror.org/{self.text}"

    def __str__(self) -> str:
        return self.text


MOST_AFFILIATIONS: Final = 50
"""Most affiliations of one person."""


@dataclass(frozen=True, slots=True)
class Affiliation:
    """An institution for which a person works."""

    name: str
    ror: Ror | None = None

    def __post_init__(self) -> None:
        checked_text(self.name, "affiliations")

    def __str__(self) -> str:
        return self.name


class RelationKind(StrEnum):
    """The relation of an item to another work: the relation types of DataCite 4.6."""

    IS_CITED_BY = "IsCitedBy"
    CITES = "Cites"
    IS_SUPPLEMENT_TO = "IsSupplementTo"
    IS_SUPPLEMENTED_BY = "IsSupplementedBy"
    IS_CONTINUED_BY = "IsContinuedBy"
    CONTINUES = "Continues"
    IS_DESCRIBED_BY = "IsDescribedBy"
    DESCRIBES = "Describes"
    HAS_METADATA = "HasMetadata"
    IS_METADATA_FOR = "IsMetadataFor"
    HAS_VERSION = "HasVersion"
    IS_VERSION_OF = "IsVersionOf"
    IS_NEW_VERSION_OF = "IsNewVersionOf"
    IS_PREVIOUS_VERSION_OF = "IsPreviousVersionOf"
    IS_PART_OF = "IsPartOf"
    HAS_PART = "HasPart"
    IS_PUBLISHED_IN = "IsPublishedIn"
    IS_REFERENCED_BY = "IsReferencedBy"
    REFERENCES = "References"
    IS_DOCUMENTED_BY = "IsDocumentedBy"
    DOCUMENTS = "Documents"
    IS_COMPILED_BY = "IsCompiledBy"
    COMPILES = "Compiles"
    IS_VARIANT_FORM_OF = "IsVariantFormOf"
    IS_ORIGINAL_FORM_OF = "IsOriginalFormOf"
    IS_IDENTICAL_TO = "IsIdenticalTo"
    IS_REVIEWED_BY = "IsReviewedBy"
    REVIEWS = "Reviews"
    IS_DERIVED_FROM = "IsDerivedFrom"
    IS_SOURCE_OF = "IsSourceOf"
    IS_REQUIRED_BY = "IsRequiredBy"
    REQUIRES = "Requires"
    IS_OBSOLETED_BY = "IsObsoletedBy"
    OBSOLETES = "Obsoletes"
    IS_COLLECTED_BY = "IsCollectedBy"
    COLLECTS = "Collects"
    IS_TRANSLATION_OF = "IsTranslationOf"
    HAS_TRANSLATION = "HasTranslation"


@dataclass(frozen=True, slots=True)
class RelatedIdentifier:
    """Another work by a name of some scheme (`doi`, `url`, `isbn`, `ibi` …), and the item's relation to it."""

    relation: RelationKind
    scheme: str
    value: str

    def __post_init__(self) -> None:
        try:
            Alternate(self.scheme, self.value)
        except InvalidItem as error:
            raise InvalidMetadata(error.text, error.offset, error.reason, **_RELATED, **_limits(error)) from error

    @classmethod
    def parse(cls, relation: RelationKind, scheme: str, value: str) -> RelatedIdentifier:
        """Return the identifier in the recorded spelling of its scheme.

        Raise `InvalidMetadata` if the scheme does not allow it.
        """
        try:
            if scheme.strip().lower() == "ibi":
                return cls(relation, "ibi", parse_any(value.strip().removeprefix("ibi:")).spelling)
            made = make_alternate(scheme, value)
        except InvalidMetadata:
            raise
        except InvalidInput as error:
            raise InvalidMetadata(value, 0, error.reason, **_RELATED, **_limits(error)) from error
        return cls(relation, made.scheme, made.value)

    @property
    def url(self) -> str | None:
        """The URL to which its scheme leads; None if the scheme has no links.

        It is also None for a recorded address that is not http or https: a browser would run `javascript:`.
        """
        if self.scheme in ("url", "http", "https"):
            return self.value if self.value.lower().startswith(("http://", "https://")) else None
        place = _RESOLVERS.get(self.scheme)
        return None if place is None else place + quote(self.value, safe="/:;()@!$*',+=._~-")

    def __str__(self) -> str:
        return self.value if self.scheme == "url" else f"{self.scheme}:{self.value}"


_RELATED: Final = {"field": "related_identifiers"}
_RESOLVERS: Final = {
    "doi": "https://doi.org/",
    "hdl": "https://hdl.handle.net/",
    "ark": "https://n2t.net/ark:/",
    "arxiv": "https://arxiv.org/abs/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/",
}


def _limits(error: InvalidInput) -> dict[str, object]:
    return {name: value for name, value in error.details.items() if name != "field"}


@dataclass(frozen=True, slots=True)
class Funding:
    """A funder of the work: an organisation, and the number of its award."""

    name: str
    ror: Ror | None = None
    award: str | None = None
    url: str | None = None
    """The URL of the award."""

    def __post_init__(self) -> None:
        checked_text(self.name, "funding")
        if self.award is not None:
            checked_text(self.award, "funding")
        if self.url is not None:
            try:
                wire.url(self.url)
            except InvalidInput as error:
                raise InvalidMetadata(self.url, 0, error.reason, field="funding", **error.details) from error

    def __str__(self) -> str:
        return self.name if self.award is None else f"{self.name}, {self.award}"


_DEGREES: Final = re.compile(r"-?[0-9]{1,3}(?:\.[0-9]{1,10})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class GeoPlace:
    """A place that an item is about: a name, a position on the map, or both."""

    name: str | None = None
    box: tuple[str, str, str, str] | None = None
    """Decimal degrees, as they were written: west, south, east, north (RFC 7946); a point has the same values twice.

    If east is less than west, the box crosses the 180th meridian.
    """

    def __post_init__(self) -> None:
        if self.name is not None:
            checked_text(self.name, "places")
        elif self.box is None:
            raise InvalidMetadata("", 0, "a place has a name or degrees", field="places")
        if self.box is not None:
            self._check_box(self.box)

    @staticmethod
    def _check_box(box: tuple[str, ...]) -> None:
        if len(box) != 4:
            raise InvalidMetadata(" ".join(box), 0, "a box has four numbers: west, south, east, north", field="places")
        for degrees, most in zip(box, (180, 90, 180, 90), strict=True):
            if not _DEGREES.fullmatch(degrees) or abs(float(degrees)) > most:
                reason = "degrees are a number between -{most} and {most}, as in -23.21"
                raise InvalidMetadata(degrees, 0, reason, field="places", most=most)
        if float(box[1]) > float(box[3]):
            raise InvalidMetadata(box[1], 0, "the south of a box is north of its north", field="places")

    @property
    def is_point(self) -> bool:
        return self.box is not None and self.box[:2] == self.box[2:]

    def __str__(self) -> str:
        """Return the place as Dublin Core writes it (DCMI Point, DCMI Box)."""
        parts = [] if self.name is None else [self.name if self.box is None else f"name={self.name}"]
        if self.box is not None:
            west, south, east, north = self.box
            sides = {"east": west, "north": south}
            if not self.is_point:
                sides = {"westlimit": west, "southlimit": south, "eastlimit": east, "northlimit": north}
            parts += [f"{side}={degrees}" for side, degrees in sides.items()]
        return "; ".join(parts)
