"""Pages for people: when a request wants one, and how an error becomes one."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response
from starlette.types import Scope

from ibi.errors import IbiError
from ibi.web.http.errors import PROBLEM, answer_to, problem
from ibi.web.http.request import RawHeaders, choose, values
from ibi.web.http.request_errors import NotAcceptable
from ibi.web.pages.reader import page_language, translations
from ibi.web.pages.rendering import render
from ibi.web.pages.words import title_of

__all__ = ["HTML", "redirect", "refusal", "wants_page"]

HTML = "text/html"


def redirect(url: str) -> Response:
    """A redirect that caches must not store: where it leads may depend on the reader, and may change. `url` is ASCII
    and sent as it is."""
    return Response(b"", HTTPStatus.FOUND, {"location": url, "cache-control": "no-store"})


def wants_page(headers: RawHeaders) -> bool:
    """Whether the client is a browser rather than a program: its Accept header names HTML."""
    try:
        return choose(values(headers, b"accept"), (PROBLEM, HTML)) == HTML
    except NotAcceptable:
        return False


def refusal(error: IbiError, scope: Scope, elsewhere: str | None = None) -> Response:
    """An error as problem details, or to a browser as a page in its reader's language. `elsewhere` is where what is
    not here may be found.

    An error that is for the log alone is raised again: the application logs it.
    """
    if not answer_to(error).told:
        raise error
    answer = problem(error)
    if not wants_page(scope["headers"]):
        answer.headers.append("vary", "Accept")
        return answer
    kept = {name: value for name, value in answer.headers.items() if name not in {"content-type", "content-length"}}
    gettext = translations(page_language(scope)).gettext
    title = gettext(title_of(answer.status_code))
    shown = {"title": title, "said": error.message(gettext), "elsewhere": elsewhere}
    return render(scope, "alert.html", status=answer.status_code, headers=kept, **shown)
