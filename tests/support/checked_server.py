"""Servers for the checker of conformance: ours, whose answers are remembered, so that one thing in them can be spoiled.

What was asked once is answered from memory: a run against a spoiled server costs a few milliseconds. What was not asked
before goes to the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin

from ibi.check.client import ProbeSender, listening
from ibi.check.rules.checking import CheckedServer, CheckLevel, Judgment, MemberIdentity, Probe, ProbeResponse
from ibi.check.rules.examination import ClauseResult, Examination
from ibi.net.server_url import ServerUrl
from ibi.standard.languages import LanguageTag
from tests.support.archive_app import BASE, IBIP, REP, SERVICE, deleted, kept
from tests.support.asgi_client import ask
from tests.support.one_port import KeptItem, OnePort
from tests.support.standards_archives import forms
from tests.support.whole_resolver import KEY, READER, whole_resolver

SECOND = ("lab.br/arq/2012/07.12.18.08", "8JMKD3MGP8W/3C9EP6P")
THIRD = ("lab.br/arq/2014/03.25.23.20", "8JMKD3MGP8W/3G2EKR5")
GONE = ("lab.br/arq/2013/09.04.12.27.57", "8JMKD3MGP8W/3EPGUE5")
OWN = str(SERVICE.rep)
LABELS = (REP, SECOND[0], THIRD[0], GONE[0])
MEMBER = "lab.br/probe/2020/01.01.00.00"
EN, PT = LanguageTag("en"), LanguageTag("pt")

Send = Callable[[Probe], ProbeResponse]
Spoil = Callable[[Probe, ProbeResponse], ProbeResponse]


def items() -> list[KeptItem]:
    """A work in two editions, the second in two languages; what was deleted; and the service itself."""
    first, second, third = forms(REP, IBIP), forms(*SECOND), forms(*THIRD)
    group = ((EN, second), (PT, third))
    return [
        kept(OWN, str(SERVICE.ibip)),
        kept(REP, IBIP, next_edition=second, language=EN),
        kept(*SECOND, edition_of=first, language=EN, translations=group),
        kept(*THIRD, translation_of=second, language=PT, translations=group),
        deleted(*GONE),
    ]


class InProcess:
    """Minter, Archive and resolver of this process, asked without a network between."""

    def __init__(self, **archive: object) -> None:
        self._port = OnePort(items=items(), archive=archive)
        self._loop = asyncio.new_event_loop()

    def __call__(self, probe: Probe) -> ProbeResponse:
        url = urljoin(BASE, probe.target) if "://" not in probe.target[:10] else probe.target
        received = self._ask(probe, url)
        for _ in range(probe.redirects):
            if received.is_redirect:
                received = self._ask(probe, urljoin(url, received.location))
        return received

    def _ask(self, probe: Probe, url: str) -> ProbeResponse:
        if not url.startswith(BASE):
            return ProbeResponse(failure="it is elsewhere", url=url)
        headers = {"Host": "arq.lab.br", "User-Agent": "bot", **dict(probe.headers)}
        answer = self._loop.run_until_complete(ask(self._port.app, probe.method, url.removeprefix(BASE), headers))
        self._loop.run_until_complete(self._port.resolver.acknowledgments.drain())
        return ProbeResponse(answer.status, tuple(answer.headers.items()), answer.body, url=url)

    def close(self) -> None:
        self._loop.close()


@dataclass
class Remembered:
    """A server whose answers are remembered."""

    live: Send
    known: dict[Probe, ProbeResponse] = field(default_factory=dict)

    def __call__(self, probe: Probe) -> ProbeResponse:
        if probe not in self.known:
            self.known[probe] = self.live(probe)
        return self.known[probe]


@dataclass(frozen=True)
class CheckedRun:
    results: Sequence[ClauseResult]
    server: CheckedServer

    def named(self, judgment: Judgment) -> set[str]:
        return {result.check.name for result in self.results if result.judgment is judgment}

    def reasons(self, *judgments: Judgment) -> Mapping[str, str]:
        return {result.check.name: result.reason for result in self.results if result.judgment in judgments}


def run_checks(
    send: Send,
    spoil: Spoil | None = None,
    *,
    labels: Sequence[str] = LABELS,
    level: CheckLevel = CheckLevel.FULL,
    service: str | None = OWN,
    resolver: bool = True,
    member: MemberIdentity | None = None,
) -> CheckedRun:
    """All checks, with everything that changes something, against what `send` asks."""
    server = CheckedServer(BASE, service, resolver, level, may_change=True, member=member)
    examination = Examination(server, send if spoil is None else lambda probe: spoil(probe, send(probe)))
    examination.recognise(labels)
    return CheckedRun(tuple(examination.results()), server)


@contextmanager
def member_of_a_resolver() -> Iterator[tuple[Send, MemberIdentity]]:
    """A resolver on a socket, and the checker as an Archive of it."""
    with whole_resolver() as resolver, listening(MEMBER, "127.0.0.1", 0, None) as (inbox, address):
        resolver.register(MEMBER, "127.0.0.0/8")
        sender = ProbeSender(ServerUrl.parse(resolver.server.url), inbox)
        yield (
            lambda probe: replace(sender(probe), client=READER),  # from where readers come in that resolver
            MemberIdentity(MEMBER, KEY, address, "127.0.0.1"),
        )


# --- spoiling --------------------------------------------------------------------------------------------------------


def spoil_body(change: Callable[[bytes], bytes], *parts: str) -> Spoil:
    """Change the body of answers to messages whose target has all these parts; `|` stands for its end."""

    def spoil(probe: Probe, received: ProbeResponse) -> ProbeResponse:
        is_message = "servicesubject=" in probe.target and probe.method == "GET"
        if is_message and received.body and all(part in f"{probe.target}|" for part in parts):
            return replace(received, body=change(received.body))
        return received

    return spoil


def spoil_answer(change: Callable[[Probe, ProbeResponse], ProbeResponse], fits: Callable[[Probe], bool]) -> Spoil:
    """Change the answers to the requests that fit."""
    return lambda probe, received: change(probe, received) if fits(probe) else received


def swap(old: bytes, new: bytes, *parts: str) -> Spoil:
    return spoil_body(lambda body: body.replace(old, new), *(parts or ("urlRequest",)))


def drop_pairs(prefix: bytes, *parts: str) -> Spoil:
    def change(body: bytes) -> bytes:
        return b"\r\n".join(line for line in body.split(b"\r\n") if not line.startswith(prefix))

    return spoil_body(change, *(parts or ("urlRequest",)))


def drop_names(part: bytes, *parts: str) -> Spoil:
    """Leave out pairs whose name has that part."""

    def change(body: bytes) -> bytes:
        return b"\r\n".join(line for line in body.split(b"\r\n") if part not in line.partition(b" ")[0])

    return spoil_body(change, *(parts or ("urlRequest",)))


def answer_with(
    fits: Callable[[Probe], bool], status: int = 200, body: bytes = b"", kind: str = "text/plain", location: str = ""
) -> Spoil:
    headers = (("content-type", kind), *((("location", location),) if location else ()))
    return spoil_answer(lambda _, received: replace(received, status=status, headers=headers, body=body), fits)
