"""Checks that ask servers: the server of the data directory at its public address, and its resolver."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from ibi.check.client import ProbeSender, certificate_end
from ibi.check.rules.checking import RESOLVER_SERVICE, Probe, ProbeResponse
from ibi.doctor.diagnosis import Diagnosis, ExaminedDirectory, Level
from ibi.doctor.records import read_ticks
from ibi.membership.client.register_client import RegisterClient
from ibi.membership.model.membership import STANDING_IN, ResolverStanding
from ibi.membership.store.key_files import RegisterFiles, ResolverKeyFile
from ibi.minting.client import ask_identity
from ibi.minting.service.guard import Finding, OwnAddress
from ibi.net.server_url import ServerUrl
from ibi.standard.instant import Instant
from ibi.standard.origin import is_same_place
from ibi.standard.safe_text import printable
from ibi.standard.signing import PublicKey
from ibi.storage.machine import MachineClocks

_PATIENCE: Final = 5.0
"""Seconds for one request."""
_CLOCKS_APART: Final = 30.0
"""Seconds by which the clocks of two servers may differ, including the time of the requests."""
_SOON: Final = 14 * 86_400
"""Seconds before its end within which automatic renewal should have renewed a certificate."""
_UNAVAILABLE: Final = 503
_LONGEST_WORD: Final = 200
_ASK_ADMINISTRATOR: Final = (
    "Ask the administrator of the resolver by another way. A lost resolver is put back from its backup, or its"
    " register is brought back with `ibi resolver recover`."
)


def check_address(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a public address that leads to another server. While no server runs here, only another instance is
    reported."""
    ticks, url = read_ticks(directory), directory.settings.public_url or directory.served_url
    if directory.is_offline or ticks is None or ticks.identity is None or url is None:
        return
    epoch = ticks.store.epoch
    look = asyncio.run(OwnAddress(url, ticks.identity, ask_identity).look(lambda: epoch))
    remedy = "See what the name server and the proxy say of it, or set public_url to where this server is."
    if look.finding is Finding.ANOTHER:
        what = "another instance answers there, and mints in the same name: a copy of this directory, or its original"
        yield Diagnosis("address-elsewhere", url, what, "Stop one of them before anything is minted.")
    elif look.finding is Finding.UNKNOWN and not look.reason:
        yield Diagnosis("address-elsewhere", url, "it leads to another server than that of this directory", remedy)
    elif look.finding is Finding.UNKNOWN and directory.is_served:
        what = f"the server of this directory runs, and does not answer at its public address: {look.reason}"
        yield Diagnosis("address-elsewhere", url, printable(what), remedy)


def check_readiness(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield the reasons that a running server gives for not being ready."""
    url = directory.served_url
    if directory.is_offline or url is None:
        return
    answer = _ask(url, "/readyz")
    if answer.status != _UNAVAILABLE:
        return  # another check reports an address that leads elsewhere
    for code, detail in _reasons(answer.body):
        remedy = "Its log says more."
        yield Diagnosis("not-ready", url, f"its server takes nothing in ({code}): {detail}", remedy)


def _reasons(body: bytes) -> Iterator[tuple[str, str]]:
    try:
        found = json.loads(body)["reasons"]
        yield from ((_short(each["code"]), _short(each["detail"]).rstrip(".")) for each in found)
    except (ValueError, KeyError, TypeError, RecursionError):
        yield "unknown", "it does not say why"


def _short(text: object) -> str:
    return printable(str(text))[:_LONGEST_WORD]


def check_resolver(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a resolver that does not answer, is no resolver, or has another time."""
    url = directory.settings.resolver
    if url is None or is_same_place(url, directory.settings.own_url):
        return
    if directory.is_offline:
        yield from _tell_standing(directory, url, "as a server last noted, ")
        return
    answer = _ask(url, "/healthz")
    if answer.failure is not None:
        what = f"the resolver does not answer: {printable(answer.failure)}"
        yield Diagnosis("resolver-silent", url, what, "See whether the setting resolver is right.", level=Level.WARNING)
        return
    yield from _compare_clocks(url, answer)
    if (known := ResolverKeyFile(directory.data).find(url.rstrip("/"))) is not None:
        yield from _check_resolver_key(directory, url, known)
        return
    if not _is_resolver(_ask(url, f"/{RESOLVER_SERVICE}?servicesubject=inclusionConfirmationRequest")):
        what = "a server answers there, and it is no resolver: it does not speak as one"
        remedy = "Set resolver to the address of a resolver; `ibi check URL` tells what a server is."
        yield Diagnosis("resolver-none", url, what, remedy)


def _tell_standing(directory: ExaminedDirectory, url: str, when: str) -> Iterator[Diagnosis]:
    """Yield the reason why a server of this Archive stands in for its resolver, by the server's note. A resolver that
    is only silent is not reported."""
    standing = RegisterFiles(directory.data).read_standing()
    if standing is not None and standing is not ResolverStanding.SILENT:
        what = f"{when}{STANDING_IN[standing]}; the Archive resolves links in its place"
        yield Diagnosis("resolver-replaced", url, what, _ASK_ADMINISTRATOR, Level.WARNING)


def _check_resolver_key(directory: ExaminedDirectory, url: str, known: PublicKey) -> Iterator[Diagnosis]:
    """Yield a finding unless the server at the resolver's address is the resolver that this Archive knows."""
    offered = asyncio.run(RegisterClient(url).offered_key(known, _PATIENCE))
    if offered.standing in {ResolverStanding.THERE, ResolverStanding.SILENT}:
        if directory.is_served:  # it may prove its key and still have an old register
            yield from _tell_standing(directory, url, "")
        return
    told = "" if offered.key is None else f" ({offered.key})"
    what = f"{STANDING_IN[offered.standing]}{told}; the Archive knows {known} and resolves links in its place"
    yield Diagnosis("resolver-replaced", url, printable(what), _ASK_ADMINISTRATOR)


def _is_resolver(answer: ProbeResponse) -> bool:
    """Return whether a resolver of any make answers. The request is meant for Archives, so a resolver refuses it."""
    return answer.failure is None and answer.media_type == "text/plain" and b"confirmation yes" not in answer.body


def check_public_clock(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield a difference of clocks at the public address, where a proxy on another machine may answer."""
    url = directory.settings.public_url
    if not directory.is_offline and url is not None:
        answer = _ask(url, "/healthz")
        if answer.failure is None:
            yield from _compare_clocks(url, answer)


def _compare_clocks(url: str, answer: ProbeResponse) -> Iterator[Diagnosis]:
    date = answer.header("date")
    try:
        theirs = None if date is None else parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return
    ours = MachineClocks().seconds()
    if theirs is not None and abs(ours - theirs) > _CLOCKS_APART:
        side = "ahead of" if ours > theirs else "behind"
        what = f"the clock of this machine is {abs(ours - theirs):.0f} s {side} its clock"
        yield Diagnosis("clock-apart", url, what, "Set the clock that is wrong (NTP): labels have the time in them.")


def _ask(url: str, path: str) -> ProbeResponse:
    server = ServerUrl.parse(url)
    return ProbeSender(server, for_all=_PATIENCE, for_one=_PATIENCE)(Probe(f"{server.path}{path}"))


def check_certificates(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield problems with the certificates of this server's public addresses."""
    if directory.is_offline:
        return
    settings = directory.settings
    for url in dict.fromkeys(filter(None, (settings.public_url, settings.content_url))):
        if url.startswith("https:"):
            yield from _check_certificate(directory, url)


def _check_certificate(directory: ExaminedDirectory, url: str) -> Iterator[Diagnosis]:
    try:
        end = certificate_end(ServerUrl.parse(url), _PATIENCE)
    except ssl.SSLCertVerificationError as error:
        what = f"its certificate is not accepted: {error.verify_message}"
        yield Diagnosis("certificate", url, what, "Have it renewed, with all that stand above it.")
        return
    except OSError:
        return  # another check reports an address that does not answer
    left = end - directory.now.seconds
    if left < _SOON:
        what = f"its certificate ends at {Instant(end)}, in {max(0, left) // 86_400} days"
        yield Diagnosis("certificate", url, what, "Have it renewed.", level=Level.WARNING)
