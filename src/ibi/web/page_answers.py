"""Pages for people: when a request wants one, and how an error becomes one."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response
from starlette.types import Scope

from ibi.standard.errors import IbiError
from ibi.web.errors import PROBLEM, problem
from ibi.web.reader import SESSIONS, message, page_language, translations
from ibi.web.rendering import render
from ibi.web.request import RawHeaders, choose, values
from ibi.web.request_errors import NotAcceptable
from ibi.web.words import title_of

HTML = "text/html"
_UNTOLD = message("This server cannot do this at the moment. Its administrator finds the reason in its log.")
"""The message for faults of this server. Only its log tells the reason."""


def redirect(url: str) -> Response:
    """Return a redirect that caches must not store: its target may depend on the reader, and may change.

    `url` is ASCII and sent unchanged.
    """
    return Response(b"", HTTPStatus.FOUND, {"location": url, "cache-control": "no-store"})


def wants_page(headers: RawHeaders) -> bool:
    """Return whether the client is a browser rather than a program: its Accept header names HTML."""
    try:
        return choose(values(headers, b"accept"), (PROBLEM, HTML)) == HTML
    except NotAcceptable:
        return False


def refusal(error: IbiError, scope: Scope, elsewhere: str | None = None) -> Response:
    """Return an error as problem details, or to a browser as a page in its reader's language.

    `elsewhere` is another place where the item may be found. An error that is for the log alone is raised again, and
    the application logs it.
    """
    if not error.kind.is_told:
        raise error
    if not wants_page(scope["headers"]):
        answer = problem(error)
        answer.headers.append("vary", "Accept")
        return answer
    return _error_page(error, scope, elsewhere)


def _error_page(error: IbiError, scope: Scope, elsewhere: str | None = None) -> Response:
    answer = problem(error)
    kept = {name: value for name, value in answer.headers.items() if name not in {"content-type", "content-length"}}
    gettext = translations(page_language(scope)).gettext
    title = gettext(title_of(answer.status_code))
    said = error.message(gettext) if error.kind.is_told else gettext(_UNTOLD)
    shown = {"title": title, "said": said, "elsewhere": elsewhere}
    return render(scope, "alert.html", status=answer.status_code, headers=kept, **shown)


def failure(error: IbiError, scope: Scope) -> Response:
    """Return the answer to an unexpected failure: problem details, or to a browser a page that says no more than they
    do.

    The page reads nothing from the store, not even the session. If no page can be made, the answer is a plain one. The
    caller logs the error.
    """
    answer = problem(error)
    if scope.get("path", "").startswith("/api/"):
        return answer
    try:
        if wants_page(scope["headers"]):
            return _error_page(error, {**scope, SESSIONS: None})
        answer.headers.append("vary", "Accept")
    except Exception:  # noqa: BLE001 - the reader learns of the first failure, even if its page fails too
        return _plain_page(answer)
    return answer


_PLAIN_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Error</title></head><body>
<p>An error occurred on this server. Try again later.</p>
<p lang="pt-BR">Ocorreu um erro neste servidor. Tente novamente mais tarde.</p>
<p lang="es">Se produjo un error en este servidor. Inténtelo de nuevo más tarde.</p>
</body></html>
"""
"""The page in all languages at once, for when nothing can be translated."""


def _plain_page(answer: Response) -> Response:
    """Return the page that needs nothing else, with the status and the headers of an answer."""
    kept = {name: value for name, value in answer.headers.items() if name not in {"content-type", "content-length"}}
    return Response(_PLAIN_PAGE, answer.status_code, kept, f"{HTML}; charset=utf-8")
