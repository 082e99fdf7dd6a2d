"""Opens a resolver that reads the register of another one: a replica, or a stand-in for one that is away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic

from ibi.app.server.archive import OpenArchive
from ibi.app.server.context import ServerContext
from ibi.app.server.resolution import OpenResolver, open_beliefs, open_gateway, own_ref, resolver_service
from ibi.following.client.feed_client import ArchiveFeeds
from ibi.jobs.runner import Job
from ibi.membership.client.register_client import RegisterClient
from ibi.membership.store.key_files import RegisterFiles, ResolverKeyFile
from ibi.resolver.client.gateways import Gateways
from ibi.resolver.rules.caching import Cache
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.feed_following import FollowedFeeds
from ibi.resolver.service.resolver_service import ResolverService
from ibi.resolver.service.standby import KeptRegister, ResolverPresence
from ibi.usage.rules.robots import is_robot
from ibi.web.sites import ResolverSite, StandbySite


def open_replica(server: ServerContext, resolver: str) -> OpenResolver:
    """Return a resolver without an Archive that reads the register of another `resolver`."""
    beliefs, writing = open_beliefs(server)
    register = KeptRegister(RegisterClient(resolver), RegisterFiles(server.settings.data), resolver)
    register.load()
    guard = server.guard()
    gateway, cache = open_gateway(server, None, guard), Cache()
    feeds = FollowedFeeds(ArchiveFeeds(guard), cache, monotonic, server.jobs)
    resolving = resolver_service(server, register, beliefs, gateway, None, cache, feeds)
    return OpenResolver(site=_site(server, resolving, gateway, register), jobs=writing)


def open_standby(server: ServerContext, archive: OpenArchive, resolver: str) -> tuple[StandbySite, Sequence[Job]]:
    """Return the resolver that an Archive uses for its own readers while its `resolver` is away, with its jobs."""
    data = server.settings.data
    beliefs, writing = open_beliefs(server)
    own, client = own_ref(server, archive), RegisterClient(resolver)
    register, files = KeptRegister(client, RegisterFiles(data), resolver, own), ResolverKeyFile(data)
    register.presence = ResolverPresence(
        client, known_key=partial(files.find, resolver.rstrip("/")), admit=register.admit
    )
    register.load()
    gateway = open_gateway(server, archive, server.guard())
    resolving = resolver_service(server, register, beliefs, gateway, archive)
    return StandbySite(resolver=_site(server, resolving, gateway), register=register), writing


def _site(
    server: ServerContext, resolving: ResolverService, gateway: Gateways, register: KeptRegister | None = None
) -> ResolverSite:
    """Return a resolver that maintains no register. It may read the `register` of another one."""
    return ResolverSite(
        resolving=resolving,
        acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
        public_url=server.public_url,
        register=register,
        proxies=server.settings.trusted_proxies or (),
        is_robot=is_robot,
        close=gateway.close,
    )
