"""The Archive that the checker plays to observe a resolver: three items, and answers about them.

Its answers are unfiltered: a resolver has to select from them (R 9.2). It does no I/O; `ibi.check.client` puts
a socket in front of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from ibi.check.rules.checking import HeardRequest
from ibi.check.rules.grammars import REPOSITORY, write_ibip_suffix

_MOMENT: Final = 823_320_000
"""1996-02-03T04:00:00Z: the labels of the items have the minutes after it."""
_SUFFIX: Final = "1996/02.03.04.{minute:02}"
_TIME: Final = "1996-02-03T04:10:00Z"
FILE: Final = "/dados é.txt"
"""A path that cannot be sent without encoding."""
LATIN_FILE: Final = "/Relat%f3rio%20Final.pdf"
"""The path of R Example 6.2: its octets are ISO 8859-1."""


@dataclass(frozen=True, slots=True)
class ProbeArchive:
    """An Archive with the label `service`, reached at `address`: host and port."""

    service: str
    address: str

    @property
    def first(self) -> str:
        """An item that has a next edition."""
        return self._label(1)

    @property
    def second(self) -> str:
        """The last edition, in English, with a translation into Portuguese."""
        return self._label(2)

    @property
    def deleted(self) -> str:
        return self._label(3)

    def _label(self, minute: int) -> str:
        """Return a label with the prefix of the service, so that this Archive is its home."""
        if REPOSITORY.fullmatch(self.service):
            return f"{self.service.rsplit('/', 2)[0]}/{_SUFFIX.format(minute=minute)}"
        return f"{self.service.partition('/')[0]}/{write_ibip_suffix(_MOMENT + 60 * minute)}"

    def url(self, label: str, what: str = "item.txt") -> str:
        return f"http://{self.address}/col/{label}/doc/{what}"

    def key(self, label: str) -> str:
        return f"1700000000-{self._number(label) + 1:010}"

    def _number(self, label: str) -> int:
        known = [each.lower() for each in (self.first, self.second, self.deleted, self.service)]
        return known.index(label.lower()) + 1 if label.lower() in known else 0

    def answer(self, request: HeardRequest) -> bytes | None:
        """Return the body of the answer (R Algorithm 1). None if the request is no message to this Archive."""
        if request.path.lower() != f"/{self.service}".lower() or request.method != "GET":
            return None
        match request.subject:
            case "inclusionConfirmationRequest":
                return b"confirmation yes"
            case "acknowledgment":
                return b"notice {acknowledgment received}"
            case "urlRequest":
                return self._url_list(request).encode("ascii")
        return None

    def _url_list(self, request: HeardRequest) -> str:
        label = unquote(request.value("parsedibiurl.ibi") or "")
        path = unquote(request.value("parsedibiurl.filepath") or "", "latin-1")
        match self._number(label):
            case 1:
                return self._write(self.first, self._first_pairs(path))
            case 2:
                return self._write(self.second, self._second_pairs())
            case 3:
                return self._write(self.deleted, [("state", "Deleted"), ("timestamp", _TIME)])
            case 4:
                own = [*self._entry("", f"http://{self.address}/"), ("urlkey", self.key(self.service))]
                return self._write(self.service, own)
        return ""

    def _write(self, label: str, pairs: list[tuple[str, str]]) -> str:
        archive = [
            ("archiveaddress", self.address),
            ("ibi", self._forms(label)),
            ("ibi.archiveservice", self._forms(self.service)),
            ("ibi.platformsoftware", "{}"),
        ]
        return "\r\n".join(f"{name} {value}" for name, value in sorted([*archive, *pairs]))

    def _forms(self, label: str) -> str:
        return f"{{{'rep' if REPOSITORY.fullmatch(label) else 'ibip'} {label}}}"

    def _first_pairs(self, path: str) -> list[tuple[str, str]]:
        url = self.url(self.first, quote(path.lstrip("/"), encoding="latin-1") if path else "item.txt")
        return [
            ("ibi.nextedition", self._forms(self.second)),
            *self._entry("", url),
            *self._entry(".metadata", self.url(self.first, "metadata"), "Metadata"),
            ("urlkey", self.key(self.first)),
        ]

    def _second_pairs(self) -> list[tuple[str, str]]:
        own = self._forms(self.second)
        return [
            *self._entry("", self.url(self.second)),
            *self._entry(".lastedition", self.url(self.second)),
            *self._entry(".lastedition.metadata(oai_dc)", self.url(self.second, "metadata?format=oai_dc"), "Metadata"),
            *self._entry(".metadata", self.url(self.second, "metadata"), "Metadata"),
            *self._entry(".translation(en)", self.url(self.second)),
            *self._entry(".translation(pt)", self.url(self.second, "item.pt.txt")),
            ("ibi.lastedition", own),
            ("ibi.translation(en)", own),
            ("urlkey", self.key(self.second)),
        ]

    def _entry(self, relation: str, url: str, kind: str = "Data") -> list[tuple[str, str]]:
        return [
            (f"contenttype{relation}", kind),
            (f"state{relation}", "Original"),
            (f"timestamp{relation}", _TIME),
            (f"url{relation}", url),
        ]
