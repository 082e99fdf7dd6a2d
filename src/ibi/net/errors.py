"""Errors of requests to a server."""

from __future__ import annotations

from ibi.standard.errors import IbiError


def with_certificate_hint(text: str, error: BaseException) -> str:
    """Return `text` with a hint if OpenSSL rejects the server's certificate."""
    if getattr(error, "verify_message", None) is None:
        return text
    return f"{text} (of an authority of your own, the variable SSL_CERT_FILE names a file with its certificate)"


class InvalidServer(IbiError):
    """{server} is not the address of a server: {reason}."""

    code = "invalid-server"


class InsecureServer(IbiError):
    """A token is not sent to {server} over plain http, where others can read it: use https."""

    code = "insecure-server"


class UnusableToken(IbiError):
    """The token holds characters that no token has."""

    # The token itself is not repeated.
    code = "unusable-token"


class UnusableKey(IbiError):
    """key: it has 1 to 255 printable ASCII characters."""

    code = "unusable-key"


class ServerUnreachable(IbiError):
    """{server} cannot be reached: {reason}."""

    code = "server-unreachable"


class ServerRefused(IbiError):
    """{server} refuses: {detail}"""

    code = "server-refused"

    def __init__(self, **parameters: object) -> None:
        """`problem` is the code the server gave, or None; `retry_after` are the seconds to wait, or None."""
        super().__init__(**parameters)
        problem, status, retry = parameters.get("problem"), parameters.get("status"), parameters.get("retry_after")
        self.problem = problem if isinstance(problem, str) else None
        self.status = status if isinstance(status, int) else 0
        self.retry_after = retry if isinstance(retry, int) else None


class UnexpectedAnswer(IbiError):
    """{server} does not answer as this software would: {reason}."""

    code = "unexpected-answer"


class AnswerCut(IbiError):
    """The answer of {server} broke off after {received} of {count} labels. They are not lost: ask again with the key
    {key}, and the same labels come."""

    code = "answer-cut"


class SourceChanged(IbiError):
    """{path} was changed while it was sent, or on its way: nothing was published."""

    code = "source-changed"
