"""A server with an Archive on a disk, a register, an audit log and a person of each role: for the pages under
`/admin`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from argon2 import PasswordHasher

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.backup.store.data_files import DataDirectoryFiles
from ibi.deposits.rules.drafts import DraftRules
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.verification import VerificationSchedule
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.jobs.runner import JobRunner
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.service.copy_holder_admin import CopyHolderAdmin
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.net.address_guard import AddressGuard
from ibi.people.model.account import AuditEntry
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.people.store.audit_log import FileAuditLog
from ibi.people.store.audit_trail import FileAuditTrail
from ibi.resolver.client.gateways import Gateways
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.label import parse
from ibi.standard.messages.holders import CopyHolder
from ibi.usage.ports import UsageLog
from ibi.usage.store import SqliteUsageLog
from ibi.web.admin_shell import AdminParts, ShownSetting
from ibi.web.rendering import SiteFacts
from ibi.web.sites import ArchiveSite, ItemServices, ResolverSite
from tests.support.archive_app import BASE, NOW, SERVICE
from tests.support.deposit_samples import CountedLabels, deposits
from tests.support.membership_app import MembershipApp
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.people import MemoryPeople
from tests.support.memory.registry import MemoryRegistry
from tests.support.minting_app import made
from tests.support.people_site import PASSWORD, Browser
from tests.support.set_clocks import SetClocks
from tests.support.sites import ArchiveParts, make_site

SETTLED = "settled.example/archive/2026/01.01.00.00"
"""A holder of Copies that the settings name."""
ROLES = ("reader", "depositor", "librarian", "admin")


@dataclass
class AdminApp:
    data: Path
    site: ArchiveSite
    store: ArchiveStore
    deposits: Deposits
    register: MembershipApp
    beliefs: MemoryBeliefs
    usage: UsageLog
    audit: FileAuditLog
    schedule: VerificationSchedule
    runner: JobRunner
    browser_of: Callable[[], Browser]
    browsers: dict[str, Browser] = field(default_factory=dict)

    async def browser(self, role: str = "admin") -> Browser:
        """The browser of the person who has that role; they are named after it."""
        if role not in self.browsers:
            browser = self.browser_of()
            assert (await browser.post("/sign-in", {"name": role, "password": PASSWORD})).status == 303
            self.browsers[role] = browser
        return self.browsers[role]

    async def text(self, path: str, role: str = "admin", **headers: str) -> str:
        answer = await (await self.browser(role)).get(path, accept="text/html", **headers)
        assert answer.status == 200, (path, answer.status)
        return answer.body.decode()

    async def send(self, path: str, fields: dict[str, str], role: str = "admin") -> tuple[int, str]:
        """The status of a form that was sent, and where it leads or what it shows."""
        browser = await self.browser(role)
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', (await browser.get("/account")).body.decode())
        assert found is not None
        answer = await browser.post(path, {"csrf": found[1], **fields}, accept="text/html")
        return answer.status, answer.headers.get("location", answer.body.decode())

    def entries(self) -> list[AuditEntry]:
        return list(self.audit.entries())


@contextmanager
def admin_app(data: Path, settings: tuple[ShownSetting, ...] = ()) -> Iterator[AdminApp]:
    clocks, people, hasher = SetClocks(NOW), MemoryPeople(), SecretHasher(PasswordHasher(1, 8, 1))
    audit, beliefs, registry = FileAuditLog(data), MemoryBeliefs(), MemoryRegistry()
    usage = SqliteUsageLog(data / "usage.sqlite")
    register = MembershipApp(registry=registry, audit=audit)
    http = ArchiveHttp(AddressGuard())
    with open_store(data) as store:
        drafts = Drafts(DraftFiles(data, clocks), store, clocks, DraftRules(10_000_000, 30), service=SERVICE)
        site = make_site(
            ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE)),
            store.catalog,
            store.content,
            clocks,
            BASE,
            usage=usage,
            feed=store.changes,
            integrity=store.integrity,
        )
        parts = ArchiveParts(
            copy_holders=CopyHolderAdmin(
                CopyHoldersFile(data), SERVICE, (CopyHolder(parse(SETTLED)),), lambda: NOW.seconds, audit=audit
            ),
            services=ItemServices(store, drafts, clocks, SERVICE),
        )
        resolver = ResolverSite(
            resolving=ResolverService(register.directory, Gateways((), http), memory=Memory(beliefs)),
            acknowledgments=Acknowledgments(http),
            public_url="https://ibi.example",
            registrations=register.admin,
            disputes=Disputes(registry, beliefs, wall=lambda: NOW.seconds, audit=audit),
        )
        schedule = VerificationSchedule(store, days=30, rate=0)
        sign_in = SignIn(people, clocks, hasher)
        for role in ROLES:
            PersonAdmin(people, clocks, hasher).create(role, role, PASSWORD)
        runner = JobRunner(FailingJobsFile(data))
        minting = made(
            jobs=runner,
            clocks=clocks,
            archive=site,
            parts=parts,
            resolver=resolver,
            sign_in=sign_in,
            people=people,
            audit=audit,
            verification=schedule,
            facts=SiteFacts("ibi", "https://ibi.example"),
            admin=AdminParts(settings=settings, trail=FileAuditTrail(data), files=DataDirectoryFiles(data)),
        )
        yield AdminApp(
            data,
            site,
            store,
            deposits(store, CountedLabels()),
            register,
            beliefs,
            usage,
            audit,
            schedule,
            runner,
            lambda: Browser(minting.app),
        )
        hasher.close()
        usage.close()
        audit.close()
