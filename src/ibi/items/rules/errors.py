"""Errors of refused requests to an Archive. A refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ibi.standard.errors import ErrorKind, IbiError

LEGACY_UNKNOWN: Final = (
    "no item here has this label of before 2008; name the item by its repository name or IBIp, which can be recorded"
)


class UnknownItem(IbiError):
    """There is no item {label} here."""

    code = "unknown-item"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class LabelTaken(IbiError):
    """{label} is another item's label already: an Archive keeps no two items of one IBI."""

    code = "label-taken"
    kind = ErrorKind.CONFLICT


class AlternateTaken(IbiError):
    """alternates: {alternate} is another name of {label} already, and leads readers there: an Archive gives it to one
    item."""

    code = "alternate-taken"
    kind = ErrorKind.CONFLICT
    request_field = "alternates"


class InvalidField(IbiError):
    """{field}: {reason}."""

    code = "invalid-field"
    kind = ErrorKind.MALFORMED

    def __init__(self, field: str, reason: str, **details: object) -> None:
        """Make the error. `reason` is a template over `details`: a clause without a full stop, to stand beside the
        field."""
        super().__init__(field=field, reason=reason, **details)
        self.field, self._reason, self._details = field, reason, details

    def explain(self, translate: Callable[[str], str]) -> str:
        """Return the reason without the name of the field."""
        return translate(self._reason).format(**self._details)

    def message(self, translate: Callable[[str], str] = str) -> str:
        return f"{self.field}: {self.explain(translate)}."


class KeyReused(IbiError):
    """The same key was used for {label} before, with other content ({differences}): nothing was deposited now. A key
    stands for one deposit; use a new one for another."""

    code = "key-reused"
    kind = ErrorKind.UNPROCESSABLE
    request_field = "Idempotency-Key"


class NotAllowedNow(IbiError):
    """{label}: {act} is not possible, because {reason}."""

    code = "not-allowed-now"
    kind = ErrorKind.CONFLICT
    clauses = ("act", "reason")


class AlreadyThere(NotAllowedNow):
    """{label} is here already: {act} is not possible, because {reason}."""

    code = "already-there"


class OriginalNeeded(NotAllowedNow):
    """{label}: {act} is for the Archive that keeps the Original, and here is a Copy."""

    code = "original-needed"


class TitleMissing(IbiError):
    """title: an item is published with at least one title."""

    code = "title-missing"
    kind = ErrorKind.MALFORMED
    request_field = "title"


class NothingToPublish(IbiError):
    """files: there is neither a file nor a URL to lead readers to."""

    code = "nothing-to-publish"
    kind = ErrorKind.MALFORMED
    request_field = "files"


class ServiceItemStays(IbiError):
    """{label} is this Archive's own service: as long as there is the Archive, it is neither deleted nor transferred."""

    code = "service-item-stays"
    kind = ErrorKind.CONFLICT


class UntransferableItem(IbiError):
    """{label} is marked as not transferable."""

    code = "untransferable-item"
    kind = ErrorKind.CONFLICT


class SecondSuccessor(IbiError):
    """{label} has a next edition already, {successor}: editions follow one another in one line. Name the last of them
    instead, or withdraw that one first."""

    code = "second-successor"
    kind = ErrorKind.CONFLICT


class EditionLoop(IbiError):
    """{new} cannot be the next edition of {label}: {label} comes after it already."""

    code = "edition-loop"
    kind = ErrorKind.CONFLICT


class SecondMetadataItem(IbiError):
    """The metadata of {label} has an IBI already, {taken}: withdraw that first, or deposit a translation of it."""

    code = "second-metadata-item"
    kind = ErrorKind.CONFLICT


class MetadataOfItself(IbiError):
    """{label} cannot be its own metadata."""

    code = "metadata-of-itself"
    kind = ErrorKind.CONFLICT


class MetadataOfMetadata(IbiError):
    """{label} is itself the metadata of {described}, and metadata has no metadata item of its own."""

    code = "metadata-of-metadata"
    kind = ErrorKind.CONFLICT


class DescribedMetadata(IbiError):
    """{label} has a metadata item, {metadata}, so that it cannot be the metadata of another item: metadata has none of
    its own."""

    code = "described-metadata"
    kind = ErrorKind.CONFLICT


class SecondTranslation(IbiError):
    """{source} has a text in {language} already, {taken}: there is one for each language."""

    code = "second-translation"
    kind = ErrorKind.CONFLICT


class TranslationOfTranslation(IbiError):
    """{label} is itself a translation: name its source, {source}."""

    code = "translation-of-translation"
    kind = ErrorKind.CONFLICT


class TranslationsOfItsOwn(IbiError):
    """{label} has a text in {language} of its own, {text}, and translations have one source in common: withdraw that
    text first, and then name the same source for it."""

    code = "translations-of-its-own"
    kind = ErrorKind.CONFLICT


class NoSuchClaim(IbiError):
    """{claimant} makes no claim on {label}: `ibi claims` lists those there are."""

    code = "no-such-claim"
    kind = ErrorKind.NOT_FOUND
    request_field = "claimant"


class ClaimAccepted(IbiError):
    """The claim of {claimant} on {label} was accepted before: `ibi relate --undo` withdraws what {label} says."""

    code = "claim-accepted"
    kind = ErrorKind.CONFLICT
    request_field = "claimant"


class LanguageOfGroup(IbiError):
    """language: {label} is known among its translations as the text in {language}, and stays that."""

    code = "language-of-group"
    kind = ErrorKind.CONFLICT
    request_field = "language"


class TranslationLanguageMissing(IbiError):
    """language: a translation needs a language."""

    code = "translation-language-missing"
    kind = ErrorKind.MALFORMED
    request_field = "language"


class UnknownVersion(IbiError):
    """{label} has no version {version}: it has versions 1 to {latest}."""

    code = "unknown-version"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class VersionNotRestorable(IbiError):
    """Version {version} of {label} cannot be restored: {reason}."""

    code = "version-not-restorable"
    kind = ErrorKind.CONFLICT
    clauses = ("reason",)


class DiskNearlyFull(IbiError):
    """The disk of this server has room for {room} more bytes of drafts, which is not enough. Nothing was changed, and
    drafts can still be published. Discard those that are not needed, or tell the administrator of this server."""

    code = "disk-nearly-full"
    kind = ErrorKind.STORAGE_FULL
