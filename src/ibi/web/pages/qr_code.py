"""A link as a QR code, for posters and spines: black on white in every theme, as scanners need it."""

from __future__ import annotations

from functools import lru_cache

import segno
from markupsafe import Markup, escape


@lru_cache(maxsize=256)
def qr_code(link: str, words: str) -> Markup:
    """Draw the code as SVG. `words` describe it to screen readers."""
    code = segno.make(link, error="m", micro=False)
    drawn = code.svg_inline(border=3, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    named = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
    return Markup(named)  # noqa: S704 - all else is segno's own: the link is in its dots
