"""Licences for depositors to choose from: their SPDX identifiers, names, texts and terms.

`Licence` accepts any URL, and any text in the form of an SPDX identifier. `known_licences.tsv` lists the licences
common in repositories. `find_licence` also finds them by the address of their text, as records of other systems name
them. `spdx_identifiers.tsv` tells identifiers from words that only look like one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from ibi.items.model.metadata import Licence
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.package_data import read_table


class LicenceTerm(Enum):
    """One permission or condition of a licence. Pages describe it in words."""

    FREE = "free"
    """Use, change and sharing are allowed for any purpose."""
    UNCHANGED = "unchanged"
    """Sharing is allowed, but only unchanged."""
    PUBLIC_DOMAIN = "public domain"
    ATTRIBUTION = "attribution"
    SHARE_ALIKE = "share alike"
    NON_COMMERCIAL = "non-commercial"
    NOTICE = "notice"
    """The notice of copyright and licence must stay."""
    OPEN_SOURCE = "open source"
    """Programs that contain it must come with their source, on the same terms."""
    OPEN_LIBRARY = "open library"
    """Changes to it must come with their source; programs that use it need not."""
    OPEN_SERVICE = "open service"
    """A service that runs it must give the source to its users."""
    PATENTS = "patents"
    """Patents of its contributors that it needs may be used."""
    DATABASE = "database"


class LicenceGroup(Enum):
    """The intended use of a licence. Pages have headings for them."""

    WORKS = "works"
    DATA = "data"
    SOFTWARE = "software"


@dataclass(frozen=True, slots=True)
class KnownLicence:
    """A licence of SPDX."""

    id: str
    name: str
    url: str
    """The address of its text for people."""
    terms: tuple[LicenceTerm, ...]
    group: LicenceGroup

    @property
    def licence(self) -> Licence:
        return Licence(self.id)


@cache
def known_licences() -> tuple[KnownLicence, ...]:
    """Return the licences that items of repositories have."""
    return tuple(
        KnownLicence(id_, name, url, tuple(map(LicenceTerm, terms.split(", "))), LicenceGroup(group))
        for id_, name, url, terms, group in read_table("ibi.items.rules", "known_licences.tsv")
    )


@cache
def common_licences() -> tuple[KnownLicence, ...]:
    """Return the short list for a form: the licences usual today, the most usual first."""
    return tuple(each for each in known_licences() if not each.id.startswith("CC-") or each.id.endswith("-4.0"))


@cache
def _licences_by_id() -> Mapping[str, KnownLicence]:
    return {each.id.lower(): each for each in known_licences()}


@cache
def _licences_by_url() -> Mapping[str, KnownLicence]:
    return {_plain(each.url): each for each in reversed(known_licences())}


@cache
def _spdx_identifiers() -> Mapping[str, str]:
    """Return the identifiers in the spelling of SPDX, by small letters."""
    return {identifier.lower(): identifier for (identifier,) in read_table("ibi.items.rules", "spdx_identifiers.tsv")}


# Country and deed do not change the licence by which SPDX knows it: …/by/3.0/br/ and …/by/4.0/deed.pt.
_CC_URL: Final = re.compile(
    r"https?://(?:www\.)?creativecommons\.org/licenses/([a-z-]{2,8})/([0-9]\.[0-9])(?:/[a-z0-9._-]{0,40}){0,2}"
)
_SPDX_URL: Final = re.compile(r"https?://(?:www\.)?spdx\.org/licenses/([A-Za-z0-9.+-]{1,64}?)(?:\.html|\.json)?/?")


def _plain(url: str) -> str:
    return url.split("://", 1)[-1].removeprefix("www.").rstrip("/").lower()


def find_licence(text: str) -> KnownLicence | None:
    """Return the licence that a text names: by its identifier in any case, or by the address of its text. None if it is
    not listed."""
    text = text.strip()
    if len(text) > 300:
        return None
    if (spdx := _SPDX_URL.fullmatch(text)) is not None:
        return _licences_by_id().get(spdx[1].lower())
    if (commons := _CC_URL.fullmatch(text.lower())) is not None:
        return _licences_by_id().get(f"cc-{commons[1]}-{commons[2]}")
    by_url = _licences_by_url()
    return _licences_by_id().get("-".join(text.lower().split())) or by_url.get(_plain(text.removesuffix("legalcode")))


def read_licence(text: str) -> Licence:
    """Return the licence that a depositor wrote, in the spelling of SPDX if it is listed. Raise `InvalidMetadata` if it
    is no licence.

    Only new values are checked against the list of SPDX: stored values, and values from elsewhere, may be newer.
    """
    found = find_licence(text)
    if found is not None:
        return found.licence
    licence = Licence(text.strip())
    if "://" in licence.text or licence.text.startswith("LicenseRef-"):
        return licence
    listed = _spdx_identifiers().get(licence.text.removesuffix("+").lower())
    if listed is None:
        raise InvalidMetadata(
            licence.text,
            0,
            "SPDX lists no licence of that name: give another, or the URL of the terms",
            field="licence",
        )
    return Licence(listed + "+" * licence.text.endswith("+"))
