"""Internet Based Identifiers: globally unique labels, and links to them that last.

This package's exports and the names in `docs/public-api.md` are its public interface; all other modules are internal.
Labels are available at once. Persistent URLs, relations and messages are loaded at their first use, because a program
that only reads labels should not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ibi.standard.errors import (
    IbiError,
    InvalidInput,
    InvalidInstant,
    InvalidLabel,
    InvalidMessage,
    InvalidPairs,
    InvalidPersistentUrl,
    InvalidRelation,
)
from ibi.standard.instant import Instant
from ibi.standard.label import FoundLabel, Ibip, Label, RepositoryName, find_labels, parse

if TYPE_CHECKING:
    from ibi.standard.messages import (
        Acknowledgment,
        Answer,
        ArchiveProtocol,
        Confirmation,
        ContentType,
        Deletion,
        ErrorAnswer,
        ExclusionRequest,
        ExclusionStatus,
        InclusionConfirmationRequest,
        InclusionRequest,
        InclusionStatus,
        LabelForms,
        Notice,
        RegistrationKey,
        RegistrationMail,
        Request,
        ServiceSubject,
        State,
        UrlEntry,
        UrlKey,
        UrlList,
        UrlRequest,
        parse_answer,
        parse_request,
    )
    from ibi.standard.pairs import Pairs
    from ibi.standard.persistent_url import PersistentUrl
    from ibi.standard.relation import Relation

__version__ = "0.2.0"

__all__ = [
    "Acknowledgment",
    "Answer",
    "ArchiveProtocol",
    "Confirmation",
    "ContentType",
    "Deletion",
    "ErrorAnswer",
    "ExclusionRequest",
    "ExclusionStatus",
    "FoundLabel",
    "IbiError",
    "Ibip",
    "InclusionConfirmationRequest",
    "InclusionRequest",
    "InclusionStatus",
    "Instant",
    "InvalidInput",
    "InvalidInstant",
    "InvalidLabel",
    "InvalidMessage",
    "InvalidPairs",
    "InvalidPersistentUrl",
    "InvalidRelation",
    "Label",
    "LabelForms",
    "Notice",
    "Pairs",
    "PersistentUrl",
    "RegistrationKey",
    "RegistrationMail",
    "Relation",
    "RepositoryName",
    "Request",
    "ServiceSubject",
    "State",
    "UrlEntry",
    "UrlKey",
    "UrlList",
    "UrlRequest",
    "__version__",
    "find_labels",
    "parse",
    "parse_answer",
    "parse_request",
]

# A type checker reads the imports above: if it saw `__getattr__`, it would accept any name.
if not TYPE_CHECKING:
    _MODULES = {
        "Pairs": "ibi.standard.pairs",
        "PersistentUrl": "ibi.standard.persistent_url",
        "Relation": "ibi.standard.relation",
    }
    """The modules of the exports that are loaded on first use. All others come from `ibi.standard.messages`."""

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_MODULES.get(name, "ibi.standard.messages")), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
