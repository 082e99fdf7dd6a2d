"""Renders the Markdown of strangers as elements that neither run nor load anything.

HTML in it is shown as text, a picture as its words, and links lead to the Web or nowhere. What is rendered does not
depend on where the file is: links within the Archive are left open, for `fill_links` to complete on a page. To render
may take seconds of the processor, so that no process does it that answers requests.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

MOST_RENDERED: Final = 400_000
"""Characters of a preview with its links: a short text can name a long address once and lead to it a thousand times."""
RENDERING: Final = 2
"""To be raised when the same text is rendered otherwise: what was rendered before is rendered again."""
_LEVELS: Final = 2
"""By how much headings are lower than in the file: it stands below a heading of the page."""
_DEEPEST: Final = 20
"""Blocks within each other; of what lies deeper the parser says nothing. Each level of a list is two."""
_LONGEST_LINK: Final = 2_000
"""Characters of an address; a link to a longer one leads nowhere."""
_OPEN: Final = "\x01"
"""Begins what stands for the first part of an address; a letter tells which. No text has this character."""
_ITSELF, _ORIGIN = "@", "/"
_FOLDERS: Final = "abcdefghijklmnop"
"""The folder of the file, that above it, and so on."""


class PreviewRefused(Exception):
    """Said of a text that becomes longer than a preview may be."""


def _make_renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable("table")
    made.add_render_rule("image", lambda self, tokens, index, options, env: str(escape(tokens[index].content)))
    return made


_RENDERER: Final = _make_renderer()


def render(text: str) -> str:
    """The elements, with open links. Raises PreviewRefused if they become too long, or would lack some of the text."""
    tokens, left = _RENDERER.parse(text.replace(_OPEN, "\ufffd")), MOST_RENDERED
    number = 0
    for token in tokens:
        if token.level >= _DEEPEST - 1 and token.type in {"blockquote_open", "list_item_open"}:
            raise PreviewRefused("its quotes or lists are too deep")
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _LEVELS)}"
        token.attrs.pop("style", None)  # of the columns of a table
        for child in token.children or ():
            if child.type == "link_open":
                address = _make_harmless(child)
                left -= len(address)
                number += address.startswith(_OPEN)
                if left < 0:
                    raise PreviewRefused("its links are longer than a preview may be")
    rendered = str(_RENDERER.renderer.render(tokens, _RENDERER.options, {}))
    if len(rendered) > MOST_RENDERED:
        raise PreviewRefused("it becomes longer than a preview may be")
    if rendered.count(_OPEN) != number:
        raise PreviewRefused("it has characters that no text has")
    return rendered


def _make_harmless(link: Token) -> str:
    """Let a link lead to the Web, into the Archive, or nowhere; return its address, empty if nowhere."""
    href = str(link.attrs.get("href", ""))
    address = _harmless_address(href) if len(href) <= _LONGEST_LINK else ""
    link.attrs = {"href": address, "rel": "nofollow ugc noopener"} if address else {}
    return address


def _harmless_address(href: str) -> str:
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if _OPEN in href:
        return ""
    if parts.scheme:
        return href if parts.scheme in {"http", "https"} and parts.netloc else ""
    if parts.netloc:
        return f"https:{href}"
    after = "".join(f"{mark}{rest}" for mark, rest in (("?", parts.query), ("#", parts.fragment)) if rest)
    if not parts.path:
        return f"{_OPEN}{_ITSELF}{after}"
    above, path = _shorten_path(parts.path)
    if parts.path.startswith("/"):
        return f"{_OPEN}{_ORIGIN}{path}{after}"
    return f"{_OPEN}{_FOLDERS[min(above, len(_FOLDERS) - 1)]}{path}{after}"


def _shorten_path(path: str) -> tuple[int, str]:
    """How many folders the path leads up, and where it leads from there."""
    above, names = 0, list[str]()
    *folders, last = path.removeprefix("/").split("/")
    for name in (*folders, *([last] if last in {".", ".."} else [])):
        if name == ".." and names:
            names.pop()
        elif name == "..":
            above += 1
        elif name != ".":
            names.append(name)
    return above, "/".join((*names, "" if last in {".", ".."} else last))


def fill_links(rendered: str, url: str) -> Markup | None:
    """What was rendered, with links from the file at `url` on. None if it becomes too long."""
    if len(rendered) + rendered.count(_OPEN) * len(url) > MOST_RENDERED:
        return None
    parts = urlsplit(url)
    origin, folders = f"{parts.scheme}://{parts.netloc}/", parts.path.split("/")[1:-1]
    firsts = {_ITSELF: f"{origin.removesuffix('/')}{parts.path}", _ORIGIN: origin}
    for above, letter in enumerate(_FOLDERS):
        firsts[letter] = origin + "".join(f"{folder}/" for folder in folders[: max(len(folders) - above, 0)])
    for letter, first in firsts.items():
        rendered = rendered.replace(f"{_OPEN}{letter}", str(escape(first)))
    return Markup(rendered)  # noqa: S704 - made of tokens, whose texts are escaped
