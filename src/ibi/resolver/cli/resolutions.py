"""Persistent URLs resolved for a command, by the data directory itself or through a server. `ibi resolve` prints their
targets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from ibi.command.options import setting_options, settings_from
from ibi.command.output import as_json_option, each, print_json
from ibi.settings import Settings
from ibi.standard.errors import IbiError
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    from ibi.resolver.client.clients import ResolverClient
    from ibi.resolver.service.resolution_runner import Resolved
    from ibi.resolver.service.resolver_service import ResolverService


class NotResolved(IbiError):
    """{said}"""

    code = "not-resolved"


class Resolutions(Protocol):
    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return the target of the link. Raise `NotResolved` if it leads nowhere."""

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return the steps of the resolution, even if the link leads nowhere."""


@contextmanager
def opened_resolutions(settings: Settings) -> Iterator[Resolutions]:
    if settings.is_remote:
        from ibi.resolver.client.clients import ResolverClient

        token = None if settings.token is None else settings.token.reveal()
        yield _Remote(ResolverClient(settings.server or "", token))
        return
    with asyncio.Runner() as runner:
        opened = _open_resolver(settings)
        resolving = runner.run(opened.__aenter__())
        try:
            yield _Local(runner, resolving, f"{settings.own_url}/")
        finally:
            runner.run(opened.__aexit__(None, None, None))


@asynccontextmanager
async def _open_resolver(settings: Settings) -> AsyncIterator[ResolverService]:
    from ibi.resolver.opening.resolver import open_resolver_service

    async with open_resolver_service(settings) as resolving:
        yield resolving


class _Remote:
    def __init__(self, client: ResolverClient, *, follows: bool = True) -> None:
        """Create a client. If an Archive leaves links to its resolver, the client follows it there once, if it
        `follows`."""
        self._client, self._follows = client, follows

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.net.errors import ServerRefused, UnexpectedAnswer

        try:
            return self._client.record(url)
        except UnexpectedAnswer:
            found = self._client.find_resolver(url) if self._follows else None
            if found is None:
                raise
            return {"url": found} if isinstance(found, str) else _Remote(found, follows=False).record(url)
        except ServerRefused as refusal:
            if refusal.problem is None:
                raise
            said = refusal.parameters["detail"]
        raise NotResolved(url=url.text("", keep_spelling=True), said=said)

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.net.errors import UnexpectedAnswer

        try:
            return self._client.trace(url)
        except UnexpectedAnswer:
            found = self._client.find_resolver(url)
            if found is None or isinstance(found, str):
                raise
            return found.trace(url)


class _Local:
    def __init__(self, runner: asyncio.Runner, resolving: ResolverService, base: str) -> None:
        self._runner, self._resolving, self._base = runner, resolving, base

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.resolver.api.alerts import alert_about
        from ibi.resolver.pages.records import resolved_record
        from ibi.resolver.rules.outcome import Redirect
        from ibi.web.reader import translations

        resolved = self._resolve_fresh(url)
        if isinstance(resolved.outcome, Redirect) and not resolved.to_confirm:
            return resolved_record(url, resolved.outcome, resolved, self._base)
        alert = alert_about(resolved.outcome, url, translations("en"))
        raise NotResolved(url=url.text("", keep_spelling=True), said=alert.said)

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.resolver.pages.records import trace_record

        return trace_record(url, self._resolve_fresh(url), self._base)

    def _resolve_fresh(self, url: PersistentUrl) -> Resolved:
        from ibi.net.own_address import find_own_address

        # The reader is the user of this machine.
        clients = (find_own_address(),)
        return self._runner.run(self._resolving.resolve(url, clients, base=self._base, fresh=True))


@click.command()
@click.argument("links", metavar="LABEL_OR_URL...", nargs=-1, required=True)
@as_json_option
@setting_options("data", "config", "server", "token")
def resolve(links: tuple[str, ...], *, as_json: bool, **flags: str | None) -> None:
    """Print the address to which each link leads at the moment, as a reader would be sent there."""
    with opened_resolutions(settings_from(**flags)) as resolutions:
        each(
            links,
            lambda link: resolutions.record(PersistentUrl.parse(link)),
            lambda record: print_json(record) if as_json else click.echo(printable(str(record["url"]))),
        )
