"""Renders the Markdown of strangers as elements that neither run nor load anything.

HTML appears as text and a picture as its alternative text; links lead to the Web, into the Archive, or nowhere. The
result does not depend on the place of the file: links within the Archive stay open, and `fill_links` completes them on
a page. Rendering may take seconds of CPU time, so no process that answers requests does it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

MOST_RENDERED: Final = 400_000
"""Characters of a preview with its links. A short text can define a long address once and link to it a thousand
times."""
RENDERING: Final = 2
"""Version of the rendering. Increase it when the output changes: earlier previews are then rendered again."""
_LEVELS: Final = 2
"""Levels by which headings are lowered: the preview stands below a heading of the page."""
_DEEPEST: Final = 20
"""Nesting of blocks. The parser drops deeper blocks silently. Each level of a list counts as two."""
_LONGEST_LINK: Final = 2_000
"""Characters of an address. A longer link leads nowhere."""
_OPEN: Final = "\x01"
"""The start of a placeholder for the first part of an address; the next letter names that part. No text may contain
this character."""
_ITSELF, _ORIGIN = "@", "/"
_FOLDERS: Final = "abcdefghijklmnop"
"""The folder of the file, the folder above it, and so on."""


class PreviewRefused(Exception):
    """Said of a text that becomes longer than a preview may be."""


def _make_renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable("table")
    made.add_render_rule("image", lambda self, tokens, index, options, env: str(escape(tokens[index].content)))
    return made


_RENDERER: Final = _make_renderer()


def render(text: str) -> str:
    """Return the elements, with open links. Raise `PreviewRefused` if they become too long or would lose text."""
    tokens, left = _RENDERER.parse(text.replace(_OPEN, "\ufffd")), MOST_RENDERED
    number = 0
    for token in tokens:
        if token.level >= _DEEPEST - 1 and token.type in {"blockquote_open", "list_item_open"}:
            raise PreviewRefused("its quotes or lists are too deep")
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _LEVELS)}"
        token.attrs.pop("style", None)  # set on the columns of a table
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
    """Make a link lead to the Web, into the Archive, or nowhere. Return its address, empty if nowhere."""
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
    """Return the number of folders that the path leads up, and the path from there."""
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
    """Return the rendered elements with the links of the file at `url`. None if they become too long."""
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
