"""`/explain?q=…`: any label or link taken apart, its fault if it has one, and how it is resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.errors import InvalidInput, InvalidLabel, InvalidPersistentUrl
from ibi.instant import MONTH_NAMES
from ibi.label import parse_any
from ibi.language_range import Preference, preferences
from ibi.messages.values import IpAddress
from ibi.persistent_url import PersistentUrl
from ibi.resolver.outcome import Outcome, Redirect
from ibi.resolver.trace import Trace
from ibi.services.sites import ArchiveSite
from ibi.web.http.request import reader_address, values
from ibi.web.pages.drawings import trace_figure
from ibi.web.pages.label_anatomy import anatomy
from ibi.web.pages.language import locale_of, page_language, translations
from ibi.web.pages.relatives import Relative
from ibi.web.pages.rendering import render
from ibi.web.pages.words import outcome_words, wishes

_LONGEST: Final = 9000
"""Characters of the text to explain; a link may have 8192 after its host."""
_AROUND: Final = 60
"""Characters that are shown on either side of a fault."""


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
    """The page that explains a link. Without a resolver, the link is not followed. No acknowledgment is sent to
    Archives."""

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
        address = reader_address(scope, proxies)
        wished = url.language or ", ".join(values(scope["headers"], b"accept-language"))
        clients = () if address is None else (address,)
        resolved = await self._resolver.resolve(url, clients, preferences(wished), base=self._public_url, fresh=True)
        outcome = resolved.outcome
        return {
            "figure": trace_figure(resolved.trace, outcome, translations(page_language(scope))),
            "seconds": resolved.seconds,
            "outcome": outcome_words(outcome),
            "leads_to": outcome.url if isinstance(outcome, Redirect) else None,
        }


def _reason(error: InvalidInput, language: str) -> str:
    """The fault in the reader's language, with the names of months in it too."""
    month = error.details.get("month")
    names = locale_of(language).months["format"]["wide"]
    named = {"month": names[MONTH_NAMES.index(month) + 1]} if month in MONTH_NAMES else {}
    return translations(language).gettext(error.reason).format(**{**error.details, **named})


def parse_link(text: str) -> PersistentUrl:
    """Parse a link, or a label as the link to its item. The errors of any other text are those of a label."""
    try:
        return PersistentUrl(parse_any(text))
    except InvalidLabel as reason:
        try:
            return PersistentUrl.parse(text)
        except InvalidPersistentUrl as error:
            if "://" in text or error.offset > reason.offset:
                raise
            raise reason from None
