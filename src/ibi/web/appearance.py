"""The look of a site: its colours, its logo, and the pages below `/about`.

The colours are those of the settings, or the nearest shade that is legible (WCAG 2.2, 1.4.3).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.jobs.promptness import beside
from ibi.web.headers import SANDBOX
from ibi.web.reader import PAGE_LANGUAGES, named_language, page_language
from ibi.web.rendering import DocumentLink, SiteFacts, SiteLook, render
from ibi.web.request_errors import PathNotFound

ABOUT: Final = "/about"
"""The page `about.md`. The other pages are below it."""
_STYLE: Final = "/static/site.css"
_LOGOS: Final = ("logo.svg", "logo.png", "logo.webp", "logo.jpg", "logo.jpeg", "logo.gif")
_MEDIA: Final = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "ico": "image/x-icon",
}
_LOOK: Final = 2.0
"""Seconds between two looks at the files."""
_FOR_GOOD: Final = "public, max-age=31536000, immutable"
_FOR_A_WHILE: Final = "public, max-age=300"


_PAPERS: Final = ("#ffffff", "#faf8f3", "#f3f0e8", "#fdf3dc", "#fdeeec", "#e9f5ec")
"""Background colours of text in `ibi.css`, in the light scheme."""
_DARK_PAPERS: Final = ("#13181d", "#1a2128", "#212a32", "#332a16", "#381d1d", "#172e20")
_LEGIBLE: Final = 4.5
"""The least contrast for text of any size."""


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours such as `#0b4f57`, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (each / 255 for each in _parts(colour))

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mix(colour: str, other: str, percent: int) -> str:
    """Return the colour mixed with this percentage of the other."""
    mixed = (round(a + (b - a) * percent / 100) for a, b in zip(_parts(colour), _parts(other), strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)


def legible_on(colour: str, papers: Iterable[str], towards: str) -> str:
    """Return the colour, mixed with as much of `towards` as it needs to be legible on each of the `papers`."""
    behind = tuple(papers)
    shades = (_mix(colour, towards, percent) for percent in range(0, 101, 4))
    return next(each for each in shades if min(contrast(each, paper) for paper in behind) >= _LEGIBLE)


def letters_on(colour: str) -> str:
    """Return black or white, whichever is more legible on the colour."""
    return max("#ffffff", "#000000", key=lambda letters: contrast(letters, colour))


def style_sheet(colour: str | None, header_colour: str | None) -> str:
    """Return the style sheet that follows `ibi.css`."""
    day, night = [], []
    if colour is not None:
        day += [("accent", colour), ("on-accent", letters_on(colour))]
        night += day
        for names, papers, towards in ((day, _PAPERS, "#000000"), (night, _DARK_PAPERS, "#ffffff")):
            shade = legible_on(colour, papers, towards)
            names += [("link", shade), ("who", shade), ("bar", shade)]
    if header_colour is not None:
        day += [("header", header_colour), ("on-header", letters_on(header_colour))]
    rules = (
        f":root {{ {_declarations(day)} }}",
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_declarations(night)} }} }}",
    )
    return "\n".join((*rules, ""))


def _declarations(names: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in names)


class Document(NamedTuple):
    """A page that the owner of the site wrote."""

    title: str
    body: Markup


_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")
_ABSOLUTE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|[/#?]", re.IGNORECASE)
_LINKED: Final = re.compile(r"https?:|mailto:", re.IGNORECASE)


def read_document(text: str, name: str) -> Document:
    """Parse the Markdown text of a page (CommonMark, with tables). Its title is the first heading, or else the name of
    its file.

    HTML in the text is shown as it is typed, and links may only lead to Web and e-mail addresses. So the author of a
    page can run no script on the site.
    """
    tokens = _MARKDOWN.parse(text)
    title = name
    if len(tokens) > 2 and tokens[0].type == "heading_open":
        title, tokens = _plain(tokens[1]) or name, tokens[3:]
    for token in _all(tokens):
        _confine(token)
    return Document(title, Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})))  # noqa: S704 - no HTML


def _plain(token: Token) -> str:
    return "".join(each.content for each in token.children or ()).strip()


def _all(tokens: Iterable[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def _confine(token: Token) -> None:
    """Adapt one Markdown token to the site.

    The title is the only heading of the first level. Style attributes are removed; right alignment becomes a class of
    the site. A relative link or image points to a file in the same folder.
    """
    if token.type in {"heading_open", "heading_close"} and token.tag == "h1":
        token.tag = "h2"
    style = token.attrs.pop("style", None)
    if style == "text-align:right":
        token.attrs["class"] = "number"
    if token.type == "link_open":
        token.attrs["href"] = _resolve_link(str(token.attrs.get("href", "")))
    elif token.type == "image":
        token.attrs["src"] = _resolve_link(str(token.attrs.get("src", "")))


def _resolve_link(address: str) -> str:
    if not _ABSOLUTE.match(address):
        return f"{ABOUT}/{address}".replace(f"{ABOUT}/about.md", ABOUT).replace(".md", "")
    has_scheme = ":" in address.partition("/")[0]
    return address if _LINKED.match(address) or (not has_scheme and not address.startswith("//")) else "#"


@dataclass(frozen=True, slots=True)
class _Read:
    """The result of the last look at the files."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    documents: Mapping[tuple[str, str | None], Document] = field(default_factory=dict)
    """Documents by name, and by the language in the file's name."""
    look: SiteLook = field(default_factory=SiteLook)


class Appearance:
    """The look of one site.

    Settings are read at the start. A changed file shows after at most two seconds.
    """

    def __init__(
        self,
        files: SiteFiles,
        *,
        colour: str | None = None,
        header_colour: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files, self._monotonic, self._due = files, monotonic, float("-inf")
        self._style = style_sheet(colour, header_colour).encode() if colour or header_colour else None
        self._theme = header_colour or colour
        self._read = _Read()

    def routes(self) -> list[Route]:
        found = [Route(ABOUT, self.about), Route(f"{ABOUT}/{{name}}", self.below)]
        return found if self._style is None else [*found, Route(_STYLE, self.style)]

    async def with_current_look(self, facts: SiteFacts) -> SiteFacts:
        """Return the facts with the present look of the site."""
        await self._look()
        return facts if facts.look is self._read.look else replace(facts, look=self._read.look)

    async def about(self, request: Request) -> Response:
        return await self._page(request, "about")

    async def below(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        if name == "about":
            raise PathNotFound()  # it has an address of its own
        return await (self._picture(request, name) if "." in name else self._page(request, name))

    async def style(self, request: Request) -> Response:
        assert self._style is not None  # or there is no route
        return _static(request, self._style, "text/css; charset=utf-8", {})

    async def _page(self, request: Request, name: str) -> Response:
        await self._look()
        language = page_language(request.scope)
        found = _in_language(self._read.documents, name, language)
        if found is None:
            raise PathNotFound()
        tag, document = found
        return render(request.scope, "document.html", document=document, document_language=tag)

    async def _picture(self, request: Request, name: str) -> Response:
        """Deliver a picture, confined as files of items are, so that an SVG runs no script either."""
        await self._look()
        content, media_type = self._read.files.get(name), _MEDIA.get(name.rpartition(".")[2])
        if content is None or media_type is None:
            raise PathNotFound()
        return _static(request, content, media_type, {"content-security-policy": SANDBOX})

    async def _look(self) -> None:
        now = self._monotonic()
        if now < self._due:
            return
        self._due = now + _LOOK  # before the wait: other requests need not look too
        files = await beside(self._files.files)
        if files is not self._read.files:
            self._read = await beside(lambda: self._read_all(files))

    def _read_all(self, files: Mapping[str, bytes]) -> _Read:
        documents: dict[tuple[str, str | None], Document] = {}
        for file, content in files.items():
            if file.endswith(".md"):
                name, _, tag = file.removesuffix(".md").partition(".")
                language = named_language(tag) if tag else None
                if not tag or language is not None:
                    documents[name, language] = read_document(content.decode(errors="replace"), name)
        logo = next((each for each in _LOGOS if each in files), None)
        look = SiteLook(
            logo=None if logo is None else f"{ABOUT}/{logo}?v={_digest(files[logo])}",
            logo_type=None if logo is None else _MEDIA[logo.rpartition(".")[2]],
            style=None if self._style is None else f"{_STYLE}?v={_digest(self._style)}",
            theme=self._theme,
            documents={language: tuple(_links(documents, language)) for language in PAGE_LANGUAGES},
        )
        return _Read(files, documents, look)


def _links(documents: Mapping[tuple[str, str | None], Document], language: str) -> Iterator[DocumentLink]:
    """Yield the links at the foot of each page: the page about the site first, then the others by name."""
    for name in sorted({each for each, _ in documents}, key=lambda each: (each != "about", each)):
        found = _in_language(documents, name, language)
        if found is not None:
            yield DocumentLink(ABOUT if name == "about" else f"{ABOUT}/{name}", found[1].title, name)


def _in_language(
    documents: Mapping[tuple[str, str | None], Document], name: str, language: str
) -> tuple[str | None, Document] | None:
    """Return the page in that language, or the one without a language, or any."""
    tags: tuple[str | None, ...] = (language, None, *PAGE_LANGUAGES)
    return next(((tag, documents[name, tag]) for tag in tags if (name, tag) in documents), None)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


def _static(request: Request, content: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    is_named = request.query_params.get("v") == _digest(content)
    caching = {"cache-control": _FOR_GOOD if is_named else _FOR_A_WHILE}
    return Response(content, 200, {**caching, **headers}, media_type)


class SiteFiles(Protocol):
    """Files that the owner of a site adds: pages in Markdown, the logo, pictures. Calls block, one at a time."""

    def files(self) -> Mapping[str, bytes]:
        """Return name and content of each file; the same mapping object as before if nothing has changed."""
