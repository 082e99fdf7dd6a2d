"""What a server sends, looked at before it is believed: it is shown on a terminal and kept by programs."""

from __future__ import annotations

import json

from ibi.transport.errors import ServerRefused, UnexpectedAnswer

__all__ = ["label_of", "object_of", "one_line", "refusal_of"]

_PROBLEM = "urn:ibi:problem:"
_SHOWN = 500


def object_of(body: bytes, server: str) -> dict[str, object]:
    """The JSON object in a body."""
    found = _json(body)
    if not isinstance(found, dict):
        raise UnexpectedAnswer(server=server, reason="it is not a JSON object")
    return found


def label_of(line: bytes, server: str) -> dict[str, object]:
    """The label in a line of an answer."""
    label = object_of(line, server)
    texts = [label.get("rep"), label.get("instant"), "" if label.get("ibip") is None else label["ibip"]]
    if not all(isinstance(each, str) and each.isascii() and each.isprintable() for each in texts):
        raise UnexpectedAnswer(server=server, reason="what came is not a label")
    return label


def refusal_of(status: int, body: bytes, server: str) -> ServerRefused | UnexpectedAnswer:
    """What a status other than success says: the server's problem details, or else the status itself.

    300 with problem details is no redirect: it shows claims, and leads nowhere by itself.
    """
    problem = _json(body)
    is_told = isinstance(problem, dict) and str(problem.get("type")).startswith(_PROBLEM)
    if 300 <= status < 400 and not (status == 300 and is_told):
        return UnexpectedAnswer(server=server, reason="it sends elsewhere, and a token goes to one server only")
    if not isinstance(problem, dict) or not is_told:
        return ServerRefused(server=server, status=status, detail=f"HTTP status {status}.", problem=None)
    return ServerRefused(
        server=server,
        status=status,
        problem=one_line(str(problem["type"]).removeprefix(_PROBLEM)),
        detail=one_line(str(problem.get("detail") or problem.get("title"))),
        field=one_line(str(problem["field"])) if "field" in problem else None,
        retry_after=problem.get("retry_after"),
    )


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def one_line(text: str) -> str:
    """Without anything that could move a cursor or fill a screen."""
    shown = "".join(each if each.isprintable() else " " for each in text[: _SHOWN + 1])
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
