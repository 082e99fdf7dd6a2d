"""What can be wrong with a request before anything is asked of the application. Each names the part at fault."""

from __future__ import annotations

from ibi.errors import IbiError

__all__ = [
    "BodyTooLarge",
    "BodyTooSlow",
    "InternalError",
    "InvalidIdempotencyKey",
    "MalformedBody",
    "MemberMissing",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "ServerStopping",
    "UnknownMember",
    "UnsupportedMediaType",
]


class NotFound(IbiError):
    """There is nothing here."""

    code = "not-found"


class MethodNotAllowed(IbiError):
    """{method} is not possible here, only {allowed}."""

    code = "method-not-allowed"


class NotAcceptable(IbiError):
    """Accept: the answer can be had as {offered} only."""

    code = "not-acceptable"


class UnsupportedMediaType(IbiError):
    """{field}: the body has to be {wanted}."""

    code = "unsupported-media-type"


class BodyTooLarge(IbiError):
    """body: it is larger than {most} bytes."""

    code = "body-too-large"


class BodyTooSlow(IbiError):
    """body: it did not arrive within {seconds} s."""

    code = "body-too-slow"


class MalformedBody(IbiError):
    """body: {reason}."""

    code = "malformed-body"


class UnknownMember(IbiError):
    """{field}: there is no such member; known are: {known}."""

    code = "unknown-member"


class MemberMissing(IbiError):
    """{field}: this member is missing."""

    code = "member-missing"


class InvalidIdempotencyKey(IbiError):
    """Idempotency-Key: it is given once, as {least} to {most} printable ASCII characters."""

    code = "invalid-idempotency-key"


class ServerStopping(IbiError):
    """This server is stopping."""

    code = "server-stopping"


class InternalError(IbiError):
    """Something went wrong here, and not with your request. The log tells it under {request}."""

    code = "internal-error"
