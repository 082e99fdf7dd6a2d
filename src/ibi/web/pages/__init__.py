"""Plain pages: HTML without styles and scripts. Every word that somebody else wrote goes through `text`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from http import HTTPStatus
from typing import NewType

from starlette.responses import Response

from ibi.errors import IbiError
from ibi.web.errors import PROBLEM, answer_to, problem
from ibi.web.headers import RawHeaders, values
from ibi.web.negotiation import choose
from ibi.web.refusals import NotAcceptable

__all__ = ["HTML", "Markup", "definitions", "element", "link", "page", "redirect", "refusal", "text", "wants_page"]

HTML = "text/html"
Markup = NewType("Markup", str)
"""What may stand in a page as it is."""

_POLICY = "default-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"


def text(words: object) -> Markup:
    return Markup(escape(str(words)))


def element(name: str, *content: Markup, **attributes: str) -> Markup:
    """`name` and the names of the attributes are ours. Left and right of a stranger's words stay what they are."""
    shown = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{shown}>{''.join(content)}</{name}>")


def link(url: str, words: object) -> Markup:
    """To a URL of HTTP, relative or absolute; anything else is shown and not linked."""
    if url.startswith(("http://", "https://", "/", "?")):
        return element("a", element("bdi", text(words)), href=url)
    return element("bdi", text(words))


def definitions(pairs: Iterable[tuple[str, Iterable[Markup]]]) -> Markup:
    """A list of names and their values; a name without values is left out."""
    rows = []
    for name, shown in pairs:
        found = [element("dd", value, dir="auto") for value in shown]
        if found:
            rows += [element("dt", text(name)), *found]
    return element("dl", *rows)


def page(title: str, *content: Markup, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    head = element("head", Markup('<meta charset="utf-8">'), element("title", text(title)))
    body = element("body", element("main", element("h1", text(title), dir="auto"), *content))
    document = f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
    sent = {"content-security-policy": _POLICY, **(headers or {})}
    return Response(document.encode(), status, sent, f"{HTML}; charset=utf-8")


def redirect(url: str) -> Response:
    """Where something is may depend on who asks, and may change: nobody keeps it. `url` is ASCII and goes as it is."""
    return Response(b"", HTTPStatus.FOUND, {"location": url, "cache-control": "no-store"})


def wants_page(headers: RawHeaders) -> bool:
    """Whether whoever asks is a browser rather than a program: it names HTML."""
    try:
        return choose(values(headers, b"accept"), (PROBLEM, HTML)) == HTML
    except NotAcceptable:
        return False


def refusal(error: IbiError, headers: RawHeaders, *content: Markup) -> Response:
    """An error as problem details, or to a browser as a page with perhaps something to read further.

    One that is for the log alone is raised again: the application writes it there.
    """
    if not answer_to(error).told:
        raise error
    answer = problem(error)
    if not wants_page(headers):
        answer.headers.append("vary", "Accept")
        return answer
    kept = {name: value for name, value in answer.headers.items() if name not in {"content-type", "content-length"}}
    title = error.code.replace("-", " ").capitalize()
    said = element("p", text(error), dir="auto")
    return page(title, said, *content, status=answer.status_code, headers={**kept, "vary": "Accept"})
