"""Errors in a request, found before the application sees it. Each names the part at fault."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import QueryParams

from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.translatable import message


class PathNotFound(IbiError):
    """There is nothing here."""

    code = "not-found"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class MethodNotAllowed(IbiError):
    """{method} is not possible here, only {allowed}."""

    code = "method-not-allowed"
    kind = ErrorKind.METHOD_NOT_ALLOWED
    request_field = "method"


class NotAcceptable(IbiError):
    """Accept: the answer can be had as {offered} only."""

    code = "not-acceptable"
    kind = ErrorKind.NOT_ACCEPTABLE
    request_field = "Accept"


class UnsupportedMediaType(IbiError):
    """{field}: the body has to be {wanted}."""

    code = "unsupported-media-type"
    kind = ErrorKind.UNSUPPORTED


class BodyTooLarge(IbiError):
    """body: it is larger than {most} bytes."""

    code = "body-too-large"
    kind = ErrorKind.TOO_LARGE
    request_field = "body"


class BodyTooSlow(IbiError):
    """body: it did not arrive within {seconds} s."""

    code = "body-too-slow"
    kind = ErrorKind.TOO_SLOW
    request_field = "body"


class UploadTooSlow(IbiError):
    """body: less than {least} bytes a second arrived for {seconds} s, so the upload was ended. The draft has the files
    that it had before: send this one again over a faster connection."""

    code = "upload-too-slow"
    kind = ErrorKind.TOO_SLOW
    request_field = "body"

    @property
    def template(self) -> str:
        """The message about a file, or that about the object in `of`."""
        return {"item": ITEM_TOO_SLOW, "batch": BATCH_TOO_SLOW}.get(str(self.parameters.get("of")), super().template)


ITEM_TOO_SLOW: Final = message(
    "body: less than {least} bytes a second arrived for {seconds} s, so the request was ended, and nothing was"
    " deposited. Send it again over a faster connection, or large files through a draft."
)
BATCH_TOO_SLOW: Final = message(
    "body: less than {least} bytes a second arrived for {seconds} s, so the request was ended. The items that had come"
    " whole before that are deposited. Send the batch again over a faster connection; with the same Idempotency-Key,"
    " these come once."
)


class MalformedBody(IbiError):
    """body: {reason}."""

    code = "malformed-body"
    kind = ErrorKind.MALFORMED
    request_field = "body"


class UnknownMember(IbiError):
    """{field}: there is no such member; known are: {known}."""

    code = "unknown-member"
    kind = ErrorKind.MALFORMED


class MemberMissing(IbiError):
    """{field}: this member is missing."""

    code = "member-missing"
    kind = ErrorKind.MALFORMED


class InvalidMember(IbiError):
    """{field}: {reason}."""

    code = "invalid-member"
    kind = ErrorKind.MALFORMED


class InvalidParameter(IbiError):
    """{field}: {reason}."""

    code = "invalid-parameter"
    kind = ErrorKind.MALFORMED


class InvalidDigest(IbiError):
    """{field}: a digest is given as sha-512 or sha-256, in the form of RFC 9530 or RFC 3230."""

    code = "invalid-digest"
    kind = ErrorKind.MALFORMED


class InvalidIdempotencyKey(IbiError):
    """Idempotency-Key: it is given once, as {least} to {most} printable ASCII characters."""

    code = "invalid-idempotency-key"
    kind = ErrorKind.MALFORMED
    request_field = "Idempotency-Key"


class HeadTooLarge(IbiError):
    """The request line and the headers are too large: they have at most {most} bytes and {fields} headers."""

    code = "head-too-large"
    kind = ErrorKind.HEAD_TOO_LARGE


class TooManyConnections(IbiError):
    """There are too many connections from the address of your network, which many people may share: wait {retry_after}
    seconds and try again."""

    code = "too-many-connections"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5

    def __init__(self) -> None:
        super().__init__(retry_after=self.retry_after)


class ServerFull(IbiError):
    """This server has as many connections as it can take: wait {retry_after} seconds and try again."""

    code = "server-full"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5

    def __init__(self) -> None:
        super().__init__(retry_after=self.retry_after)


class ServerStarting(IbiError):
    """This server is starting: it is rebuilding its catalogue. Nothing is lost; ask again later."""

    code = "server-starting"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5

    @property
    def template(self) -> str:
        """The message, with the items `read` so far and the number of `items`, if these are known."""
        if self.parameters.get("read") is None:
            return super().template
        return READ_SO_FAR if self.parameters.get("items") is None else READ_OF


READ_SO_FAR: Final = message(
    "This server is starting: it is rebuilding its catalogue, {read} items so far. Nothing is lost; ask again later."
)
READ_OF: Final = message(
    "This server is starting: it is rebuilding its catalogue, {read} of {items} items so far. Nothing is lost; ask"
    " again later."
)


class ServerStopping(IbiError):
    """This server is stopping."""

    code = "server-stopping"
    kind = ErrorKind.UNAVAILABLE


class ArchiveSwitchedOff(IbiError):
    """This Archive is switched off at the moment, and its items cannot be read. Try again later."""

    code = "archive-switched-off"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 600


class InternalError(IbiError):
    """Something went wrong here, and not with your request. The log tells it under {request}."""

    code = "internal-error"
    kind = ErrorKind.FAILED


class ItemDeleted(IbiError):
    """{label} was deleted on {when}: {why}"""

    code = "item-deleted"
    kind = ErrorKind.GONE
    request_field = "path"


class NoSuchFile(IbiError):
    """{label} has no file {path}."""

    code = "no-such-file"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class NoSuchTranslation(IbiError):
    """{label} is not here in the language asked for; there is: {offered}."""

    code = "no-such-translation"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class NoSuchRelation(IbiError):
    """There is nothing here that {relation} would lead to from {label}."""

    code = "related-item-missing"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class ItemElsewhere(IbiError):
    """What is asked for of {label} is not here but in another Archive: {known}."""

    code = "item-elsewhere"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class OriginalElsewhere(IbiError):
    """Here is a copy of {label}; its Original is in another Archive."""

    code = "original-elsewhere"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class UnknownFormat(IbiError):
    """format: metadata is not written as {given}, only as {offered}."""

    code = "unknown-format"
    kind = ErrorKind.NOT_FOUND
    request_field = "format"


class ListingNotPermitted(IbiError):
    """The depositor of {label} does not want its files listed. With a token they are listed, and a reader who may
    have a file gets it by its name."""

    code = "listing-not-permitted"
    kind = ErrorKind.FORBIDDEN


class PreconditionFailed(IbiError):
    """{field}: the file is not as this header expects it."""

    code = "precondition-failed"
    kind = ErrorKind.PRECONDITION_FAILED


class RangeNotSatisfiable(IbiError):
    """Range: the file has {size} bytes and none of those asked for."""

    code = "range-not-satisfiable"
    kind = ErrorKind.RANGE_NOT_SATISFIABLE
    request_field = "Range"


class ReadOnlyArchive(IbiError):
    """Nothing is deposited or changed through this server."""

    code = "read-only-archive"
    kind = ErrorKind.FORBIDDEN


_SHOWN = 40


def check_parameters(given: QueryParams, known: Collection[str], repeatable: Collection[str] = ()) -> None:
    """Refuse a parameter that is not `known`, and one that is given twice and is not `repeatable`.

    A program with a misspelt parameter must not receive everything.
    """
    for name in given:
        if name not in known:
            reason = f"there is no such parameter; known are: {', '.join(known)}"
            raise InvalidParameter(field=name[:_SHOWN], reason=reason)
    check_given_once(given, repeatable)


def check_given_once(given: QueryParams, repeatable: Collection[str] = ()) -> None:
    for name in given:
        if name not in repeatable and len(given.getlist(name)) > 1:
            raise InvalidParameter(field=name[:_SHOWN], reason="it is given once")


def whole_number(text: str, most_digits: int = 18) -> int | None:
    """Return the number that a text of digits stands for; None for any other text, and for more digits."""
    return int(text) if len(text) <= most_digits and text.isascii() and text.isdigit() else None


def number_of(given: QueryParams, name: str, default: int, lowest: int, highest: int, more: str = "") -> int:
    """Return the whole number in a parameter. `more` ends the sentence that refuses another value."""
    text = given.get(name)
    if text is None:
        return default
    number = whole_number(text, 19)
    if number is None or not lowest <= number <= highest:
        raise InvalidParameter(field=name, reason=f"it is a whole number from {lowest} to {highest}{more}")
    return number
