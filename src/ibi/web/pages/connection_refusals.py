"""Refusals of connections as pages in the reader's language.

Each page is made once: it depends on nothing but the language.
"""

from __future__ import annotations

from ibi.errors import IbiError
from ibi.web.fast.connection_refusals import fields_of, plain_refusal, response_bytes
from ibi.web.pages import HTML, refusal, wants_page
from ibi.web.pages.language import page_language
from ibi.web.pages.rendering import SITE, SiteFacts


class ConnectionRefusals:
    """The answers of one site. `facts` are what its pages say of it."""

    def __init__(self, facts: SiteFacts) -> None:
        self._facts = facts
        self._pages: dict[tuple[str, str], bytes] = {}

    def __call__(self, error: IbiError, head: bytes) -> bytes:
        """`head` are the first bytes of a request, perhaps none."""
        headers = fields_of(head)
        if not wants_page(headers):
            return plain_refusal(error)
        language = page_language({"headers": headers})
        page = self._pages.get((error.code, language))
        if page is None:
            page = self._pages[error.code, language] = self._page(error, language)
        return page

    def _page(self, error: IbiError, language: str) -> bytes:
        wishes = [(b"accept", HTML.encode("ascii")), (b"accept-language", language.encode("ascii"))]
        scope = {
            "type": "http",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": wishes,
            SITE: self._facts,
        }
        return response_bytes(refusal(error, scope))
