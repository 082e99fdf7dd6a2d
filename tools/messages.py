"""All messages that are shown in the language of the reader: in templates, in code, and in the docstrings of errors.

The catalogues are `src/ibi/web/locales/<language>/*.po`; a test compares them with these messages.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from inspect import getsourcelines
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, cast

from babel.messages.extract import extract_from_dir, extract_python

import ibi
from ibi.standard.errors import IbiError

PACKAGE: Final = Path(ibi.__file__).parent
_METHODS: Final = [("**.py", f"{__name__}:extract_python_and_errors"), ("**.html", "jinja2"), ("**.txt", "jinja2")]
_OPTIONS: Final = {"**.html": {"trimmed": "true", "newstyle_gettext": "true"}}
_KEYWORDS: Final[Mapping[str, Any]] = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "message": None,
}

Extracted: TypeAlias = tuple[int, str | None, Any, Any]
"""Line, name of the function that marks it, message or messages, comments. Babel's own annotation has them in another
order."""


@cache
def messages() -> frozenset[str | tuple[str, ...]]:
    """All messages of the package; of one with a plural, or a context, both texts."""
    found = extract_from_dir(PACKAGE, _METHODS, _OPTIONS, keywords=_KEYWORDS)
    return frozenset(words if isinstance(words, str) else tuple(words) for _, _, words, _, _ in found)


def extract_python_and_errors(
    file: BinaryIO, keywords: Mapping[str, Any], comment_tags: Collection[str], options: Any
) -> Iterator[Extracted]:
    """Yield the messages of a module of this package: those that a function marks, and the templates of its errors.
    This is an extraction method of Babel."""
    yield from cast(Iterator[Extracted], extract_python(file, keywords, comment_tags, options))
    for kind in _errors_of(Path(file.name)):
        template = error_template(kind)
        if kind.kind.is_told and _has_words(template):
            yield getsourcelines(kind)[1], "gettext", template, []


def error_template(kind: type[IbiError]) -> str:
    """The docstring of an error class on one line, by which its translation is found."""
    return " ".join((kind.__doc__ or kind.code).split())


def _errors_of(path: Path) -> list[type[IbiError]]:
    place = path.resolve().relative_to(PACKAGE.parent).with_suffix("")
    module = importlib.import_module(".".join(place.parts).removesuffix(".__init__"))
    defined = (each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__)
    return [each for each in defined if isinstance(each, type) and issubclass(each, IbiError)]


def _has_words(template: str) -> bool:
    """Whether there is a letter outside the places of the parameters."""
    return re.search(r"[^\W\d_]", re.sub(r"\{\w*\}", "", template)) is not None
