"""Elements of SVG, written safely: words and values are escaped, and no element has a style of its own. Colours come
from our style sheet, by class, so that a drawing is readable in the light and the dark theme.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape


def element(name: str, *content: object, **attributes: object) -> Markup:
    """Write an element. `name` and the names of the attributes are ours; `class_` is class, and `_` in a name is a
    hyphen."""
    shown = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = join_markup(map(escape, content))
    written = f"<{name}{shown}>{inside}</{name}>" if content else f"<{name}{shown}/>"
    return Markup(written)  # noqa: S704 - values and content are escaped above


def drawing(
    identity: str, width: float, height: float, title: str, description: str, *content: Markup, class_: str
) -> Markup:
    """A picture with a title and a description for screen readers. `identity` is unique on the page."""
    names = (
        element("title", title, id=f"{identity}-title"),
        element("desc", description, id=f"{identity}-description"),
    )
    return element(
        "svg",
        *names,
        *content,
        class_=class_,
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{identity}-title {identity}-description",
    )


def join_markup(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _value(value: object) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
