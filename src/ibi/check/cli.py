"""`ibi check`: whether a server follows the standard, clause by clause."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ibi.command.output import as_json_option, print_json
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.check.client import ProbeSender
    from ibi.check.rules.checking import CheckedServer
    from ibi.check.rules.examination import ClauseResult
    from ibi.check.rules.report import CheckReport
    from ibi.net.server_url import ServerUrl

_RESOLVER: Final = "J8LNKB5R7W/3FUQHC5"
_EXIT_CODES: Final = {"fail": 1, "not enough time": 3}


class _NotAServer(click.ClickException):
    """What is there does not speak the standard: one line, and the exit code of wrong usage."""

    exit_code = 2


class _NotFinished(click.ClickException):
    """The time was over before it was known what is there."""

    exit_code = 3


@click.command()
@click.argument("url", metavar="URL", required=False)
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Check the server of this data directory, in place of a URL: address, service and keys are those of its "
    "settings.",
)
@click.option(
    "--level",
    type=click.Choice(["minimal", "full"]),
    default="full",
    show_default=True,
    help="minimal: what an Archive of the empty relation alone has to do; full: every relation, too.",
)
@click.option("--item", "items", metavar="LABEL", multiple=True, help="A label of an item to ask about; repeatable.")
@click.option(
    "--write",
    is_flag=True,
    help="Send also what changes something: acknowledgments to an Archive, and inclusion in a resolver.",
)
@click.option(
    "--archive-service",
    metavar="LABEL",
    help="With --write: the service IBI under which the checker is registered as an Archive of the resolver.",
)
@click.option("--key-stdin", is_flag=True, help="Read the key of that registration from standard input.")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Where the checker listens as that Archive; port 0 is any free one.",
)
@click.option("--address", metavar="HOST:PORT", help="Where the resolver reaches it, if that is another address.")
@click.option("--verbose", is_flag=True, help="Show what was sent and received for every clause.")
@as_json_option
def check(
    url: str | None,
    *,
    data: Path | None,
    level: str,
    items: tuple[str, ...],
    write: bool,
    archive_service: str | None,
    key_stdin: bool,
    listen: str,
    address: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Check whether an Archive or a resolver of any make speaks the standard, clause by clause; the URL is
    http://HOST[/SERVICE_IBI]. Exits with 0 if no clause fails, 1 if one does, 2 if there is no such server, 3 if there
    was not enough time. Nothing is changed unless --write says so."""
    from ibi.check.rules.checking import CheckLevel
    from ibi.check.rules.report import result_lines

    def show(result: ClauseResult) -> None:
        for line in result_lines(result, verbose=verbose):
            click.echo(line)

    if (url is None) == (data is None):
        raise click.UsageError("give a URL, or --data with the data directory of a server of your own")
    where, server = _own_server(data) if data is not None else _server(url or "")
    if archive_service is not None and not write:
        raise click.UsageError("--archive-service includes the checker in the resolver: give --write with it")
    server.level, server.may_change = CheckLevel(level), write
    key = _key(key_stdin, data) if archive_service is not None else ""
    with _sender(where, server, archive_service, key, listen, address) as send:
        report = _examine(str(where), server, send, items, None if as_json else show)
    if as_json:
        print_json(report.record())
    else:
        click.echo(report.summary())
    raise SystemExit(_EXIT_CODES.get(report.judgment.value, 0))


def _examine(
    place: str,
    server: CheckedServer,
    send: ProbeSender,
    items: tuple[str, ...],
    show: Callable[[ClauseResult], None] | None,
) -> CheckReport:
    """Run all checks of the server at `place`, and show each result as soon as it is known."""
    from ibi.check.rules.examination import Examination
    from ibi.check.rules.report import CheckReport, heading
    from ibi.check.rules.survey import NotEnoughTime, NotSpoken

    begin = time.monotonic()
    examination = Examination(server, send)
    try:
        examination.recognise(tuple(map(_label, items)))
    except NotSpoken as reason:
        raise _NotAServer(f"{printable(place)} is no server of the IBI system: {reason}") from None
    except NotEnoughTime:
        told = "the time for all checks was over before it was known what answers there"
        raise _NotFinished(f"{printable(place)}: not enough time: {told}") from None
    results = []
    if show is not None:
        click.echo(heading(server))
    for result in examination.results():
        results.append(result)
        if show is not None:
            show(result)
    seconds = time.monotonic() - begin
    return CheckReport(server, results, examination.is_complete, seconds, examination.requests)


def _own_server(data: Path) -> tuple[ServerUrl, CheckedServer]:
    """Return the running server of a data directory: its address, and its services by its settings and files."""
    from ibi.command.options import settings_to_read
    from ibi.membership.store.archive_state import ArchiveRecordFile
    from ibi.transfers.opening.own_register import resolves_here
    from ibi.transfers.opening.transfers import NotServed, served_url

    try:
        settings = settings_to_read(data=str(data))
    except click.ClickException as error:  # without an exit code of its own it would mean that a clause failed
        raise _NotAServer(error.message) from None
    try:
        url = served_url(settings)
    except NotServed:
        url = settings.own_url
    where, server = _server(url)
    record = ArchiveRecordFile(settings.data).read() if settings.has_archive else None
    server.service = None if record is None else record.service.labels[0].spelling
    server.is_resolver = resolves_here(settings, url)
    return where, server


def _server(url: str) -> tuple[ServerUrl, CheckedServer]:
    """Return the address of the server, and its services to check."""
    from ibi.check.rules.checking import CheckedServer
    from ibi.net.errors import InvalidServer
    from ibi.net.server_url import ServerUrl

    try:
        where = ServerUrl.parse(url if "://" in url else f"http://{url}")
    except InvalidServer as error:
        raise click.UsageError(str(error)) from None
    label = where.path.strip("/")
    server = CheckedServer(str(where.origin), _label(label) if label else None)
    if server.service is not None and server.service.upper() == _RESOLVER:
        server.service, server.is_resolver = None, True
    return where, server


def _label(text: str) -> str:
    from ibi.standard.errors import InvalidLabel
    from ibi.standard.label import parse_any

    try:
        return parse_any(text).spelling
    except InvalidLabel as error:
        raise click.UsageError(f"{printable(text)}: {error}") from None


@contextmanager
def _sender(
    where: ServerUrl, server: CheckedServer, service: str | None, key: str, listen: str, address: str | None
) -> Iterator[ProbeSender]:
    """Yield the sender of the requests, with an Archive of the checker beside it if `service` is given."""
    from ibi.check.client import ProbeSender, listening
    from ibi.check.rules.checking import MemberIdentity

    if service is None:
        yield ProbeSender(where)
        return
    host, port = _listening_place(listen)
    with listening(_label(service), host, port, address) as (inbox, told):
        server.member = MemberIdentity(_label(service), key, told, _ip_of(told))
        yield ProbeSender(where, inbox)


def _ip_of(address: str) -> str:
    """Return an address of the host at which the resolver reaches the checker."""
    from ibi.net.address_guard import addresses_of
    from ibi.standard.origin import Origin

    found = addresses_of(Origin.parse(address).host.strip("[]"))
    if not found:
        raise click.UsageError(f"{printable(address)} cannot be resolved: give --address")
    return found[0]


def _listening_place(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise click.UsageError("--listen is a host and a port, such as 192.0.2.7:8900")
    return host.strip("[]"), int(port)


def _key(from_stdin: bool, data: Path | None) -> str:
    from ibi.settings import load_settings
    from ibi.standard.messages.identification import MAX_KEY

    if from_stdin:
        return sys.stdin.readline(MAX_KEY + 64).strip()
    settings = load_settings({"data": data}, os.environ)
    key = settings.registration_key or (None if data is None else settings.archive.registration_key)
    if key is None:
        raise click.UsageError("the key of --archive-service is missing: give IBI_REGISTRATION_KEY, or --key-stdin")
    return key.reveal()
