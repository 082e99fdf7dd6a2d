"""Licences that depositors choose from: their SPDX identifiers, names, texts, and what they allow.

`Licence` takes what looks like an identifier of SPDX, and any URL. This is the short list of those that items of
repositories have, with the facts about each; `find_licence` also knows them by the address of their text, as records of
other systems name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ibi.archive.spdx_ids import SPDX_IDS
from ibi.model.errors import InvalidMetadata
from ibi.model.metadata import Licence


class LicenceTerm(Enum):
    """One thing that a licence allows or asks for; pages say it in words."""

    FREE = "free"
    """To be used, changed and shared for any purpose."""
    UNCHANGED = "unchanged"
    """To be shared, but only as it is."""
    PUBLIC_DOMAIN = "public domain"
    ATTRIBUTION = "attribution"
    SHARE_ALIKE = "share alike"
    NON_COMMERCIAL = "non-commercial"
    NOTICE = "notice"
    """Its notice of copyright and licence stays with it."""
    OPEN_SOURCE = "open source"
    """Programs that contain it are given with their source, on the same terms."""
    OPEN_LIBRARY = "open library"
    """Changes to it are given with their source; programs that use it need not be."""
    OPEN_SERVICE = "open service"
    """Who runs it as a service gives its source to its users."""
    PATENTS = "patents"
    """Patents of its contributors that it needs may be used."""
    DATABASE = "database"


class LicenceGroup(Enum):
    """For what a licence is meant; pages have headings for them."""

    WORKS = "works"
    DATA = "data"
    SOFTWARE = "software"


@dataclass(frozen=True, slots=True)
class KnownLicence:
    """A licence of SPDX."""

    id: str
    name: str
    url: str
    """Of its text, for people."""
    terms: tuple[LicenceTerm, ...]
    group: LicenceGroup

    @property
    def licence(self) -> Licence:
        return Licence(self.id)


_F, _U = LicenceTerm.FREE, LicenceTerm.UNCHANGED
_BY, _SA, _NC = LicenceTerm.ATTRIBUTION, LicenceTerm.SHARE_ALIKE, LicenceTerm.NON_COMMERCIAL
_NOTICE, _PATENTS = LicenceTerm.NOTICE, LicenceTerm.PATENTS
_CC: Final = "https://creativecommons.org/"
_OSI: Final = "https://opensource.org/license/"
_ODC: Final = "https://opendatacommons.org/licenses/"
_CC_TERMS: Final = {
    "BY": ("Attribution", (_F, _BY)),
    "BY-SA": ("Attribution Share Alike", (_F, _BY, _SA)),
    "BY-NC": ("Attribution Non Commercial", (_F, _BY, _NC)),
    "BY-NC-SA": ("Attribution Non Commercial Share Alike", (_F, _BY, _NC, _SA)),
    "BY-ND": ("Attribution No Derivatives", (_U, _BY)),
    "BY-NC-ND": ("Attribution Non Commercial No Derivatives", (_U, _BY, _NC)),
}
_CC_VERSIONS: Final = {"4.0": "International", "3.0": "Unported", "2.5": "Generic", "2.0": "Generic", "1.0": "Generic"}


def _creative_commons(version: str) -> Iterator[KnownLicence]:
    for code, (words, terms) in _CC_TERMS.items():
        url = f"{_CC}licenses/{code.lower()}/{version}/"
        name = f"Creative Commons {words} {version} {_CC_VERSIONS[version]}"
        yield KnownLicence(f"CC-{code}-{version}", name, url, terms, LicenceGroup.WORKS)


def _software(id_: str, name: str, page: str, *terms: LicenceTerm) -> KnownLicence:
    return KnownLicence(id_, name, page if "://" in page else f"{_OSI}{page}", (_F, *terms), LicenceGroup.SOFTWARE)


def _list_known() -> Iterator[KnownLicence]:
    yield from _creative_commons("4.0")
    free = (_F, LicenceTerm.PUBLIC_DOMAIN)
    zero = f"{_CC}publicdomain/zero/1.0/"
    yield KnownLicence("CC0-1.0", "Creative Commons Zero v1.0 Universal", zero, free, LicenceGroup.WORKS)
    for id_, name, page, asked in (
        ("ODC-By-1.0", "Open Data Commons Attribution License v1.0", "by/1-0/", (_F, _BY)),
        ("ODbL-1.0", "Open Data Commons Open Database License v1.0", "odbl/1-0/", (_F, _BY, _SA)),
        ("PDDL-1.0", "Open Data Commons Public Domain Dedication & License 1.0", "pddl/1-0/", free),
    ):
        yield KnownLicence(id_, name, f"{_ODC}{page}", (*asked, LicenceTerm.DATABASE), LicenceGroup.DATA)
    source, library, service = LicenceTerm.OPEN_SOURCE, LicenceTerm.OPEN_LIBRARY, LicenceTerm.OPEN_SERVICE
    gnu = "https://www.gnu.org/licenses/"
    yield _software("MIT", "MIT License", "mit", _NOTICE)
    yield _software(
        "Apache-2.0", "Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0", _NOTICE, _PATENTS
    )
    yield _software("BSD-3-Clause", 'BSD 3-Clause "New" or "Revised" License', "bsd-3-clause", _NOTICE)
    yield _software("BSD-2-Clause", 'BSD 2-Clause "Simplified" License', "bsd-2-clause", _NOTICE)
    yield _software("ISC", "ISC License", "isc-license-txt", _NOTICE)
    yield _software(
        "GPL-3.0-or-later", "GNU General Public License v3.0 or later", f"{gnu}gpl-3.0.html", source, _PATENTS
    )
    yield _software("GPL-3.0-only", "GNU General Public License v3.0 only", f"{gnu}gpl-3.0.html", source, _PATENTS)
    yield _software(
        "GPL-2.0-or-later", "GNU General Public License v2.0 or later", f"{gnu}old-licenses/gpl-2.0.html", source
    )
    yield _software("GPL-2.0-only", "GNU General Public License v2.0 only", f"{gnu}old-licenses/gpl-2.0.html", source)
    yield _software(
        "LGPL-3.0-or-later", "GNU Lesser General Public License v3.0 or later", f"{gnu}lgpl-3.0.html", library
    )
    yield _software(
        "AGPL-3.0-or-later", "GNU Affero General Public License v3.0 or later", f"{gnu}agpl-3.0.html", source, service
    )
    yield _software("MPL-2.0", "Mozilla Public License 2.0", "https://www.mozilla.org/MPL/2.0/", library, _PATENTS)
    yield _software("EUPL-1.2", "European Union Public License 1.2", "https://eupl.eu/1.2/en/", source, _PATENTS)
    yield _software("CECILL-2.1", "CeCILL Free Software License Agreement v2.1", "cecill-2-1", source)
    yield _software("Unlicense", "The Unlicense", "https://unlicense.org/", LicenceTerm.PUBLIC_DOMAIN)
    for version in ("3.0", "2.5", "2.0", "1.0"):
        yield from _creative_commons(version)
    gfdl = "GNU Free Documentation License v1.3 or later"
    yield KnownLicence("GFDL-1.3-or-later", gfdl, f"{gnu}fdl-1.3.html", (_F, _BY, _SA), LicenceGroup.WORKS)


KNOWN_LICENCES: Final[tuple[KnownLicence, ...]] = tuple(_list_known())
COMMON_LICENCES: Final = tuple(
    each for each in KNOWN_LICENCES if not each.id.startswith("CC-") or each.id.endswith("-4.0")
)
"""The short list, for a form: those that are usual today, the most usual first."""

_BY_ID: Final = {each.id.lower(): each for each in KNOWN_LICENCES}
# Country and deed do not change the licence by which SPDX knows it: …/by/3.0/br/ and …/by/4.0/deed.pt.
_CC_URL: Final = re.compile(
    r"https?://(?:www\.)?creativecommons\.org/licenses/([a-z-]{2,8})/([0-9]\.[0-9])(?:/[a-z0-9._-]{0,40}){0,2}"
)
_SPDX_URL: Final = re.compile(r"https?://(?:www\.)?spdx\.org/licenses/([A-Za-z0-9.+-]{1,64}?)(?:\.html|\.json)?/?")


def _plain(url: str) -> str:
    return url.split("://", 1)[-1].removeprefix("www.").rstrip("/").lower()


_BY_URL: Final = {_plain(each.url): each for each in reversed(KNOWN_LICENCES)}


def find_licence(text: str) -> KnownLicence | None:
    """The licence that a text names: by its identifier in any case, or by the address of its text; None if it is none
    of the list."""
    text = text.strip()
    if len(text) > 300:
        return None
    if (spdx := _SPDX_URL.fullmatch(text)) is not None:
        return _BY_ID.get(spdx[1].lower())
    if (commons := _CC_URL.fullmatch(text.lower())) is not None:
        return _BY_ID.get(f"cc-{commons[1]}-{commons[2]}")
    return _BY_ID.get("-".join(text.lower().split())) or _BY_URL.get(_plain(text.removesuffix("legalcode")))


def read_licence(text: str) -> Licence:
    """What a depositor wrote, in the spelling of SPDX where it is known; `InvalidMetadata` if it is no licence.

    Only what is written now is held against the list of SPDX: what is kept, or comes from elsewhere, may be newer.
    """
    found = find_licence(text)
    if found is not None:
        return found.licence
    licence = Licence(text.strip())
    if "://" in licence.text or licence.text.startswith("LicenseRef-"):
        return licence
    listed = SPDX_IDS.get(licence.text.removesuffix("+").lower())
    if listed is None:
        raise InvalidMetadata(
            licence.text,
            0,
            "SPDX lists no licence of that name: give another, or the URL of the terms",
            field="licence",
        )
    return Licence(listed + "+" * licence.text.endswith("+"))
