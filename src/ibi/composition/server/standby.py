"""Opens a resolver that reads the register of another one: a replica, or a stand-in for one that is away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic

from ibi.composition.server.archive import OpenArchive
from ibi.composition.server.context import ServerContext
from ibi.composition.server.resolution import OpenResolver, open_beliefs, open_gateway, own_ref, resolver_service
from ibi.resolver.caching import Cache
from ibi.services.jobs import Job
from ibi.services.resolving.acknowledgments import Acknowledgments
from ibi.services.resolving.feed_following import FollowedFeeds
from ibi.services.resolving.resolver_service import ResolverService
from ibi.services.resolving.standby import KeptRegister, ResolverPresence
from ibi.services.robots import is_robot
from ibi.services.sites import ResolverSite, StandbySite
from ibi.storage.key_files import RegisterFiles, ResolverKeyFile
from ibi.transport.feed_client import ArchiveFeeds
from ibi.transport.gateways import Gateways
from ibi.transport.register_client import RegisterClient


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
