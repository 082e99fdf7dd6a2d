"""`/explain?q=…`: the parts of any label or link, its fault if it has one, and its resolution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.items.pages.related_items import Relative
from ibi.resolver.rules.outcome import Outcome, Redirect
from ibi.resolver.rules.trace import Trace
from ibi.standard.errors import InvalidInput, InvalidLabel
from ibi.standard.instant import MONTH_NAMES
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.label.generate import mount_suffix_of_ibip, mount_suffix_of_repository_name
from ibi.standard.language_choice import Preference, preferences
from ibi.standard.messages.values import IpAddress
from ibi.standard.persistent_url import PersistentUrl
from ibi.web.drawings import trace_figure
from ibi.web.reader import locale_of, page_language, translations
from ibi.web.rendering import render
from ibi.web.request import client_addresses, values
from ibi.web.sites import ArchiveSite
from ibi.web.typed_links import parse_link
from ibi.web.words import outcome_words, wishes


class PartRole(Enum):
    """The meaning of a part of a label."""

    WHO = "who"
    PORT = "port"
    WHEN = "when"
    SIGN = "sign"
    """A separator between other parts."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a label. `text` is its spelling; all parts together are the label."""

    text: str
    role: PartRole


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A label, its parts, and the facts that they contain together."""

    label: Label
    parts: tuple[Part, ...]
    host: str | None
    ip: str | None
    other_suffix: str | None
    """The same instant in the other form; None if an IBIp cannot express it."""

    @property
    def is_legacy(self) -> bool:
        """True if the label is from before 2008 and contains no facts (E72)."""
        return not self.label.is_dated

    @property
    def is_repository_name(self) -> bool:
        return self.host is not None


def anatomy(label: Label) -> Anatomy:
    if isinstance(label, RepositoryName):
        return Anatomy(label, _of_repository_name(label), label.host, None, _suffix_as_ibip(label))
    if not isinstance(label, Ibip):
        return Anatomy(label, (Part(label.spelling, PartRole.SIGN),), None, None, None)
    return Anatomy(label, _of_ibip(label), None, label.ip, mount_suffix_of_repository_name(label.instant))


# G §6: subdomain "/" word [("." | "@") port] "/" year "/" month "." day "." hour "." minute ["." second ["." fraction]]
_REPOSITORY_NAME = re.compile(r"([^/]+)(/)([^/.@]+)(?:([.@])(\d+))?(/)(\d{4}/[\d.]+)")
# G §7: address "W" | "X" [port] "/" seconds ["W" fraction]
_IBIP = re.compile(r"([^WX/]+)([WX])([^/]*)(/)(.+)", re.IGNORECASE)


def _of_repository_name(label: RepositoryName) -> tuple[Part, ...]:
    found = _REPOSITORY_NAME.fullmatch(label.spelling)
    assert found is not None, label.spelling  # the grammar has no other shape
    subdomain, slash, word, separator, port, second_slash, date = found.groups()
    written = (Part(separator, PartRole.SIGN), Part(port, PartRole.PORT)) if port else ()
    return (
        Part(subdomain, PartRole.WHO),
        Part(slash, PartRole.SIGN),
        Part(word, PartRole.WHO),
        *written,
        Part(second_slash, PartRole.SIGN),
        Part(date, PartRole.WHEN),
    )


def _of_ibip(label: Ibip) -> tuple[Part, ...]:
    found = _IBIP.fullmatch(label.spelling)
    assert found is not None, label.spelling
    address, separator, port, slash, date = found.groups()
    written = (Part(port, PartRole.PORT),) if port else ()
    return (
        Part(address, PartRole.WHO),
        Part(separator, PartRole.SIGN),
        *written,
        Part(slash, PartRole.SIGN),
        Part(date, PartRole.WHEN),
    )


def _suffix_as_ibip(label: RepositoryName) -> str | None:
    try:
        return mount_suffix_of_ibip(label.instant)
    except InvalidLabel:
        return None


_LONGEST: Final = 9000
"""Largest number of characters of the text to explain. A link may have 8192 after its host."""
_AROUND: Final = 60
"""Number of characters that are shown on either side of a fault."""


class TracedResolution(Protocol):
    """The outcome of a resolution, and its trace."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def seconds(self) -> float: ...


class LinkResolver(Protocol):
    async def resolve(
        self,
        url: PersistentUrl,
        clients: tuple[IpAddress, ...],
        preferences: Sequence[Preference] = (),
        *,
        base: str,
        fresh: bool = False,
    ) -> TracedResolution: ...


@dataclass(frozen=True, slots=True)
class Fault:
    """A text that is neither a label nor a link, split at the place of the fault."""

    before: str
    at: str
    after: str
    error: InvalidInput

    @classmethod
    def of(cls, error: InvalidInput) -> Fault:
        text, offset = error.text, min(max(error.offset, 0), len(error.text))
        start, end = max(0, offset - _AROUND), offset + 1 + _AROUND
        before = ("…" if start else "") + text[start:offset]
        after = text[offset + 1 : end] + ("…" if end < len(text) else "")
        return cls(before, text[offset : offset + 1], after, error)

    @property
    def suggestion(self) -> str | None:
        """The text that was probably meant."""
        meant = self.error.details.get("suggestion")
        return None if meant is None else str(meant)


class ExplainPage:
    """The page that explains a link.

    Without a resolver, the link is not followed. A trace sends no acknowledgment to Archives.
    """

    def __init__(self, public_url: str, site: ArchiveSite | None = None, resolver: LinkResolver | None = None) -> None:
        self._public_url, self._site, self._resolver = public_url, site, resolver

    async def get(self, request: Request) -> Response:
        text = request.query_params.get("q", "").strip()[:_LONGEST]
        context: dict[str, Any] = {"q": text, "fault": None, "url": None, "can_trace": self._resolver is not None}
        if text:
            try:
                context |= await self._explain(parse_link(text), "trace" in request.query_params, request.scope)
            except InvalidInput as error:
                context |= {"fault": Fault.of(error), "reason": _reason(error, page_language(request.scope))}
        # The item has a page of its own: search engines need not index this one.
        return render(request.scope, "explain.html", headers={"x-robots-tag": "noindex"}, **context)

    async def _explain(self, url: PersistentUrl, traced: bool, scope: Scope) -> dict[str, Any]:
        base = self._site.resolver or self._public_url if self._site else self._public_url
        item = None if self._site is None else await self._site.find(url.label)
        return {
            "url": url,
            "anatomy": anatomy(url.label),
            "wishes": wishes(url),
            "canonical": url.text(base, keep_spelling=True),
            "here": None if item is None or self._site is None else Relative.here(self._site, item),
            "forms": None if item is None else item.labels,
            "figure": None,
            **(await self._trace(url, scope) if traced else {}),
        }

    async def _trace(self, url: PersistentUrl, scope: Scope) -> dict[str, Any]:
        if self._resolver is None:
            return {}
        proxies = () if self._site is None else self._site.proxies
        clients = client_addresses(scope, proxies)
        wished = url.language or ", ".join(values(scope["headers"], b"accept-language"))
        resolved = await self._resolver.resolve(url, clients, preferences(wished), base=self._public_url, fresh=True)
        outcome = resolved.outcome
        return {
            "figure": trace_figure(resolved.trace, outcome, translations(page_language(scope))),
            "seconds": resolved.seconds,
            "outcome": outcome_words(outcome),
            "leads_to": outcome.url if isinstance(outcome, Redirect) else None,
        }


def _reason(error: InvalidInput, language: str) -> str:
    """Return the fault in the reader's language, with the names of months translated too."""
    month = error.details.get("month")
    names = locale_of(language).months["format"]["wide"]
    named = {"month": names[MONTH_NAMES.index(month) + 1]} if month in MONTH_NAMES else {}
    return translations(language).gettext(error.reason).format(**{**error.details, **named})
