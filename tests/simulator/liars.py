"""Archives that lie, each in one way. What they say is built by hand: they share no code with
`ibi.standard.messages`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.label import Label
from ibi.standard.messages import UrlRequest

__all__ = ["BELIEVABLE", "LIARS", "Liar"]

Liar = Callable[[ArchiveRef, UrlRequest, Random], bytes]

_WRONG = "example.org/wrong/1999/01.01.00.00"
_SUCCESSOR = "example.org/successor/2021/01.01.00.00"


def _answer(
    me: ArchiveRef, request: UrlRequest, *, ibi: str = "", service: str = "", url: str = "", state: str = "Original"
) -> bytes:
    """The Original of whatever is asked for, at `url`."""
    qualifier = request.relation.qualifier
    lines = [
        f"archiveaddress {me.address}",
        f"ibi {{{ibi or _forms(request.label)}}}",
        f"ibi.archiveservice {{{service or me.service}}}",
        f"contenttype{qualifier} Data",
        f"state{qualifier} {state}",
        f"url{qualifier} {url or f'http://{me.address}/lie'}",
        "urlkey 1234567890",
    ]
    return "\r\n".join(lines).encode()


def _forms(label: Label) -> str:
    return f"{label.form} {label.spelling}"


def wrong_ibi(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request, ibi=f"rep {_WRONG}")


def in_anothers_name(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request, service="rep example.org/a0/2008/03.17.15.17")


def foreign_url(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    host = random.choice(["evil.net", f"{me.address}.evil.net", "10.0.0.1", "[::1]"])
    return _answer(me, request, url=f"http://{host}/lie")


def odd_url(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    odd = [f"ftp://{me.address}/", f"http://u@{me.address}/", f"http://{me.address}@evil.net/", "javascript:0", "//x/"]
    return _answer(me, request, url=random.choice(odd))


def long_url(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request, url=f"http://{me.address}/{'x' * 20_000}")


def false_deleted(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    lines = [f"archiveaddress {me.address}", f"ibi {{{_forms(request.label)}}}", f"ibi.archiveservice {{{me.service}}}"]
    return "\r\n".join([*lines, "state Deleted", "timestamp 2015-03-15T02:40:14Z"]).encode()


def malformed(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    whole = _answer(me, request)
    place = random.randrange(len(whole))
    return random.choice([whole[:place] + b"{" + whole[place:], b"ibi x", random.randbytes(200), b"<html>"])


def giant(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request) + b"\r\nx " + b"y" * 300_000


def next_edition_in_a_circle(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _pointing(me, request, request.label.spelling, {"ibi.nextedition"})


def pointers_without_end(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    names = {"ibi.nextedition", *(f"ibi{prefix.qualifier}" for prefix in request.relation.proper_prefixes())}
    return _pointing(me, request, f"example.org/none/{random.randrange(2000, 9000)}/01.01.00.00", names)


def _pointing(me: ArchiveRef, request: UrlRequest, target: str, names: set[str]) -> bytes:
    lines = [f"archiveaddress {me.address}", f"ibi {{{_forms(request.label)}}}", f"ibi.archiveservice {{{me.service}}}"]
    return "\r\n".join([*lines, *(f"{name} {{rep {target}}}" for name in sorted(names))]).encode()


def false_original(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request)


def false_copy(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    return _answer(me, request, state="Copy")


def false_successor(me: ArchiveRef, request: UrlRequest, random: Random) -> bytes:
    """Of everything the next edition, which is there, with all that may be asked of it."""
    if request.label.spelling == _SUCCESSOR:
        return _answer(me, request)
    return _pointing(me, request, _SUCCESSOR, {"ibi.nextedition", "ibi.lastedition"})


LIARS: dict[str, Liar] = {
    each.__name__: each
    for each in (
        *(wrong_ibi, in_anothers_name, foreign_url, odd_url, long_url, false_deleted, malformed, giant),
        *(next_edition_in_a_circle, pointers_without_end),
    )
}
"""Those that can be found out."""

BELIEVABLE: dict[str, Liar] = {each.__name__: each for each in (false_original, false_copy, false_successor)}
"""Those that break no rule: they are not chosen only because somebody is believed before them."""
