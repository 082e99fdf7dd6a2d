"""The resolver's side of membership, put together with a register in memory and clocks that tests set.

Requests are written here by hand, as the standard prints them: nothing of what reads them is used to write them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog
from argon2 import PasswordHasher

from ibi.membership.model.registration import Registration
from ibi.membership.ports.archive_state import KeyStore
from ibi.membership.ports.registry import Registry
from ibi.membership.resources import RegisteredArchiveResource
from ibi.membership.rules.archive_keys import SignaturePolicy
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.membership.service.inclusions import Ask
from ibi.membership.service.registration_admin import Application, RegistrationAdmin
from ibi.membership.service.signers import OwnKeys, ResolverSigner
from ibi.people.ports import AuditLog
from ibi.people.service.secret_hasher import KeyHasher
from ibi.resolver.api.endpoint import ResolverEndpoint
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.server.fast_path import Dispatcher
from ibi.standard.label import parse
from ibi.standard.mail import Letter
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from tests.support.asgi_client import Answer, ask
from tests.support.memory.registry import MemoryRegistry
from tests.support.set_clocks import SetClocks

__all__ = ["CHEAP", "PAIRS", "REP", "J", "MembershipApp", "query"]

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Hashes of the right kind that cost nothing: what they cost in earnest is not what these tests are about."""

J = "/J8LNKB5R7W/3FUQHC5"
REP = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
PAIRS = {
    "servicesubject": "inclusionRequest",
    "archiveaddress": "mtc-m21.sid.inpe.br",
    "archiveserviceibi": REP,
    "archiveip": "150.163.34.239",
    "archiveprotocol": "HTTP",
    "archiveplatformversion": "2014:11.09.02.16.15",
    "archiveadmemailaddress": "banon@dpi.inpe.br",
    "registrationkey": "1234567890",
}
"""R Example 7.2."""


def query(**others: str) -> str:
    """The pairs of R Example 7.2, some of them others, in the order of the example."""
    return "&".join(f"{name}={value}" for name, value in {**PAIRS, **others}.items())


@dataclass
class Post:
    """The port `Mailer`, whose letters nobody fetches."""

    letters: list[Letter] = field(default_factory=list)

    def send(self, letter: Letter) -> None:
        self.letters.append(letter)


@dataclass
class MembershipApp:
    """`answers` says whether an Archive answers when it is called back; `called` are those that were."""

    registry: Registry = field(default_factory=MemoryRegistry)
    answers: Callable[[ArchiveRef], Awaitable[bool | CallBack]] | bool = True
    clocks: SetClocks = field(default_factory=SetClocks)
    seconds: float = 0.0
    """The monotonic clock."""
    called: list[ArchiveRef] = field(default_factory=list)
    post: Post | None = None
    own: LabelForms | None = None
    sandbox: bool = False
    ask: Ask | None = None
    keys: KeyStore | None = None
    """Those of the resolver; without them no signature is looked at."""
    policy: SignaturePolicy = SignaturePolicy.PREFER
    proves: Callable[[ArchiveRef], PublicKey | None] = lambda _: None
    """The key that an Archive proves when it is called back."""
    included: list[ArchiveRef] = field(default_factory=list)
    audit: AuditLog | None = None

    def __post_init__(self) -> None:
        signer = None
        if self.keys is not None:
            signer = ResolverSigner(OwnKeys(self.keys, lambda: self.seconds), "http://urlib.net", self.policy)
        self.admin = RegistrationAdmin(
            self.registry,
            self._confirm,
            self.clocks,
            resolver_url="http://urlib.net",
            mailer=self.post,
            hasher=KeyHasher(CHEAP),
            own=self.own,
            sandbox=self.sandbox,
            ask=self.ask,
            prove=self._prove,
            signer=signer,
            on_included=self._note,
            monotonic=lambda: self.seconds,
            audit=self.audit,
        )
        self.service = ResolverEndpoint(self.admin, structlog.get_logger("tests"))
        self.directory = ArchiveDirectory(self.registry, None)

    async def _prove(self, archive: ArchiveRef) -> PublicKey | None:
        return self.proves(archive)

    async def _note(self, archive: ArchiveRef) -> None:
        self.included.append(archive)

    async def _confirm(self, archive: ArchiveRef) -> CallBack:
        self.called.append(archive)
        came = self.answers if isinstance(self.answers, bool) else await self.answers(archive)
        return CallBack(came) if isinstance(came, bool) else came

    async def register(self, *labels: str, key: str = "1234567890", **others: object) -> Registration:
        application = Application.of_words(labels or (REP,), key, **others)  # type: ignore[arg-type]
        return (await self.admin.register(application, allow_weak_key=True)).registration

    async def send(
        self,
        text: str | None = None,
        headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
        *,
        method: str = "GET",
        client: str = "150.163.34.239",
        path: str = J,
    ) -> Answer:
        target = f"{path}?{query() if text is None else text}"
        assert self.is_asked(path, target.partition("?")[2])
        return await ask(self.service, method, target, headers, client=(client, 4711))

    def is_asked(self, path: str, query: str) -> bool:
        """Whether a server would give such a request to the service."""
        scope = {"raw_path": path.encode(), "query_string": query.encode()}
        return Dispatcher([self.service]).endpoint(scope) is not None

    async def settle(self) -> None:
        """Wait for what is done beside the requests: letters, and questions about forms."""
        await self.admin.settle()

    def found(self, label: str = REP) -> Registration | None:
        return self.registry.find(parse(label))

    @property
    def addresses(self) -> list[str]:
        """Where a resolution would ask now."""
        return [archive.address for archive in self.directory.archives()]


def public_facts(registration: Registration) -> dict[str, Any]:
    """Return a registration as everyone is told."""
    told: dict[str, Any] = msgspec.to_builtins(RegisteredArchiveResource.public(registration))
    return told


def all_facts(registration: Registration) -> dict[str, Any]:
    """Return a registration as administrators are told."""
    told: dict[str, Any] = msgspec.to_builtins(RegisteredArchiveResource.whole(registration))
    return told
