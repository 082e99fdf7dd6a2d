"""The settings as the rest of the package sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ibi.clock import Granularity
from ibi.config.kinds import Secret
from ibi.model.minting import Identity

if TYPE_CHECKING:
    from ibi.label import Label
    from ibi.minting.minter import Rules
    from ibi.model.visibility import IpNetwork


class Origin(IntEnum):
    """Where a value comes from; the greater overrides the lesser."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


@dataclass(frozen=True, slots=True)
class MintSettings:
    """`[mint]`: in whose name labels are minted, and how. Durations are in seconds."""

    host: str | None
    ip: str | None
    host_port: int
    ip_port: int
    sandbox: bool
    granularity: Granularity | None
    """None is auto."""
    wait_bound: Fraction
    behind_limit: Fraction


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """`[archive]`: what a resolver is told when this Archive asks to be included, and what the Archive takes in."""

    registration_key: Secret | None
    admin_email: str | None
    ip: str | None
    largest_deposit: int
    """Bytes."""
    draft_days: int
    most_drafts: int
    most_draft_bytes: int
    disk_reserve: int
    """Bytes."""
    copies_at: tuple[Label, ...] | None
    """The services of Archives that hold Copies."""
    draft_share: int
    """Percent."""
    verify_days: int
    """0 is never."""
    verify_rate: int
    """Bytes a second."""


@dataclass(frozen=True, slots=True)
class ResolveSettings:
    """`[resolve]`: whether and how persistent URLs are resolved here. Durations are in seconds."""

    enabled: bool | None
    """None is unless `resolver` is another."""
    budget: Fraction
    hedge_delay: Fraction
    connections_per_archive: int
    misses_per_network: int
    """A second."""
    foreign_urls: Literal["refuse", "confirm"]
    unproven: Literal["confirm", "follow"]


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """`[site]`: what the pages say of this place."""

    name: str


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[mail]`: through which server the resolver writes to administrators."""

    server: str | None
    port: int
    security: Literal["starttls", "tls", "none"]
    user: str | None
    password: Secret | None
    sender: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Every value of `ibi.config.SETTINGS`, under the same names; `load_settings` makes it."""

    data: Path
    config: Path | None
    host: str
    port: int
    public_url: str | None
    content_url: str | None
    hosts: tuple[str, ...] | None
    resolver: str | None
    trusted_proxies: tuple[IpNetwork, ...] | None
    connections_per_client: int
    server: str | None
    token: Secret | None
    registration_key: Secret | None
    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["console", "json"]
    lock_dir: Path | None
    mint: MintSettings
    archive: ArchiveSettings
    mail: MailSettings
    resolve: ResolveSettings
    site: SiteSettings
    file: Path | None
    """The file that was read, if any."""
    origins: Mapping[str, Origin] = field(compare=False, repr=False)
    """For each setting by name, where its value comes from."""
    hints: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the person who gave the settings: variables that look like misspelled ones."""

    @property
    def is_remote(self) -> bool:
        """Whether a command asks a server: one is given, and no data directory in a stronger way."""
        return self.server is not None and self.origins["server"] >= self.origins["data"]

    @property
    def own_url(self) -> str:
        """Where readers reach this Archive, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    def identity(self) -> Identity | None:
        """Who mints; None when no host is set. Not yet checked for being global."""
        mint = self.mint
        if mint.host is None:
            return None
        return Identity(mint.host, mint.ip, mint.host_port, mint.ip_port, sandbox=mint.sandbox)

    def rules(self) -> Rules:
        # Only what mints needs them: every other command starts sooner without.
        from ibi.minting.minter import Rules

        mint = self.mint
        return Rules(mint.granularity, mint.wait_bound, mint.behind_limit)
