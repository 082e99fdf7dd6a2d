"""Every error class of the package, and an error of each class as it might be raised."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from string import Formatter

import ibi
from ibi.items.rules.errors import InvalidField
from ibi.jobs.limits import LimitExceeded, LimitScope
from ibi.standard.errors import IbiError, InvalidInput

_VALUE: object = 7
"""It fits into every place of a template."""


def error_classes() -> Iterator[type[IbiError]]:
    """`IbiError` and all its subclasses in the package, each once."""
    for module in pkgutil.walk_packages(ibi.__path__, "ibi."):
        importlib.import_module(module.name)
    waiting: list[type[IbiError]] = [IbiError]
    found = dict.fromkeys(waiting)
    while waiting:
        new = dict.fromkeys(each for each in waiting.pop().__subclasses__() if each not in found)
        found.update(new)
        waiting += new
    return (each for each in found if each.__module__.startswith("ibi."))


def raised(kind: type[IbiError]) -> IbiError:
    """An error of this class. Its own initialiser, which may want values of other modules, is not run."""
    error = kind.__new__(kind)
    IbiError.__init__(error)
    error.parameters = dict.fromkeys((*_places(error.template), *error.clauses), _VALUE)
    if isinstance(error, InvalidInput):
        InvalidInput.__init__(error, "text", 0, "reason")
    elif isinstance(error, InvalidField):
        InvalidField.__init__(error, "text", "reason")
    elif isinstance(error, LimitExceeded):
        LimitExceeded.__init__(error, bound=LimitScope.SERVER, retry_after=7)
    return error


def _places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}
