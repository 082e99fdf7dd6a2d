"""The settings: the annotation of each field declares its type, default, help and flag.

A new setting is one more field here, or in `sections`. Its key in `ibi.toml`, its variable, its flag, the help of the
command and the row of docs/settings.md follow from it. The annotations are read at run time, so this module does
without `from __future__ import annotations`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ibi.settings.declaration import NamedSetting, Setting, SettingSource, declared_sections, declared_settings
from ibi.settings.kinds import (
    MOST_WORKERS,
    ArchiveKey,
    Boolean,
    Bound,
    CopyHolders,
    Days,
    FilePath,
    GranularityOrAuto,
    HostNames,
    IpAddress,
    ListeningHost,
    ListeningPort,
    MailAddress,
    MailUser,
    MintHost,
    Networks,
    Password,
    Percent,
    Port,
    Relations,
    Roles,
    Size,
    SizeBound,
    TimeOfDay,
    TokenText,
    Url,
    WorkersOrAuto,
    seconds,
)
from ibi.settings.sections import CopySettings, NotifySettings, OidcSettings, ResolveSettings, SiteSettings
from ibi.standard.identity import Identity
from ibi.standard.origin import bracketed

if TYPE_CHECKING:
    from ibi.minting.rules.minter import Rules


@dataclass(frozen=True, slots=True)
class MintSettings:
    """`[mint]`: the identity for which labels are minted, and the rules of minting. Durations are in seconds."""

    host: Annotated[
        MintHost | None,
        Setting("The host in whose name labels are minted: one of your own that the whole Internet knows."),
    ]
    ip: Annotated[
        IpAddress | None,
        Setting("The address in whose name labels are minted; without it they have no second form, IBIp."),
    ]
    host_port: Annotated[
        Port,
        Setting("The port that goes with the host in labels; not the one on which the services listen.", default="80"),
    ]
    ip_port: Annotated[Port, Setting("The port that goes with the address in labels.", default="800")]
    sandbox: Annotated[
        Boolean,
        Setting("Whether labels are only for trying out, so that host and address may be any.", default="false"),
    ]
    granularity: Annotated[
        GranularityOrAuto,
        Setting(
            "The seconds between the dates of labels; `auto` takes the longest that keeps everyone's wait within"
            " `mint.wait_bound`.",
            default="auto",
        ),
    ]
    """None means `auto`."""
    wait_bound: Annotated[
        Fraction,
        seconds("0", "86400"),
        Setting("How many seconds anyone may have to wait for a label when the granularity is `auto`.", default="0.01"),
    ]
    # Two clocks are never read at the same moment. With a limit near 0, that alone would look like a jump.
    behind_limit: Annotated[
        Fraction,
        seconds("0.1", "86400"),
        Setting(
            "How many seconds the clock may be behind the last label, or jump, before minting refuses.", default="5"
        ),
    ]


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """`[archive]`: the data for inclusion at a resolver, and the limits and services of the Archive.

    Sizes are in bytes.
    """

    registration_key: Annotated[
        ArchiveKey | None,
        Setting(
            "The key with which this Archive is registered at its resolver; without it, or without `resolver`, the"
            " Archive does not ask to be included."
        ),
    ]
    admin_email: Annotated[
        MailAddress | None, Setting("The e-mail address of who runs this Archive, as its resolver is told it.")
    ]
    ip: Annotated[
        IpAddress | None,
        Setting(
            "The address of the machine that serves this Archive, as its resolver is told it; without it `mint.ip`."
        ),
    ]
    largest_deposit: Annotated[
        Size,
        Setting(
            "How much may be sent to a server for one item or one update of it, all files together.", default="100 GB"
        ),
    ]
    draft_days: Annotated[Days, Setting("After how many days without a change a draft is removed.", default="30")]
    most_drafts: Annotated[
        Bound, Setting("How many drafts one depositor may have at a time; 0 is no bound.", default="100")
    ]
    most_draft_bytes: Annotated[
        SizeBound,
        Setting(
            "How much one depositor may have in drafts at a time, files on their way included; 0 is no bound.",
            default="100 GB",
        ),
    ]
    disk_reserve: Annotated[
        SizeBound,
        Setting("How much the drafts of all depositors leave free on the disk; 0 lets them fill it.", default="1 GB"),
    ]
    relations: Annotated[
        Relations | None,
        Setting(
            "The relations that this Archive answers resolvers, besides the item itself, where a translation without a"
            " language stands for all languages; without it all of them."
        ),
    ]
    landing_page: Annotated[
        Boolean,
        Setting(
            "Whether a link to an item leads browsers to its page first; programs, and links with the name of a file,"
            " get the file, as all do otherwise.",
            default="false",
        ),
    ]
    follow_editions: Annotated[
        Boolean,
        Setting(
            "Whether the last edition is answered when all later editions are here; if not, resolvers follow them one"
            " by one.",
            default="true",
        ),
    ]
    hosts: Annotated[
        HostNames | None,
        Setting(
            "Hosts, besides that of this Archive, to which URLs of its items lead: resolvers are told of them when the"
            " Archive is included, and need not ask readers to confirm."
        ),
    ]
    copies_at: Annotated[
        CopyHolders | None,
        Setting(
            "The service labels of the Archives that hold Copies of the items here, at most 32, of all or of those with"
            " certain prefixes: resolvers are told of them, and ask them while this Archive does not answer."
        ),
    ]
    draft_share: Annotated[
        Percent,
        Setting(
            "How many percent of what the disk has for drafts those of one depositor may take; 100 lets one take it"
            " all.",
            default="50",
        ),
    ]
    full_text: Annotated[
        Boolean,
        Setting(
            "Whether a server reads the text of PDF, Office, HTML and text files that all readers may see, beside all"
            " else, so that searches find it.",
            default="true",
        ),
    ]
    extract_unconfined: Annotated[
        Boolean,
        Setting(
            "Whether the text of files is read, and Markdown rendered, also where the kernel offers neither Landlock"
            " nor seccomp to confine the process that does it: a file that takes that process over can then do what"
            " the server can.",
            default="false",
        ),
    ]
    verify_days: Annotated[
        Bound,
        Setting(
            "Within how many days a server reads again everything that is kept, to see that it is whole; 0 is never.",
            default="30",
        ),
    ]
    verify_rate: Annotated[
        SizeBound, Setting("How many bytes a second it reads for that at most; 0 is no bound.", default="20 MB")
    ]
    dump: Annotated[
        TimeOfDay,
        Setting(
            "When a server writes the dump of all public records that is at `/dump.ndjson.gz`, every day at that time.",
            default="off",
        ),
    ]
    """None means `off`."""
    review: Annotated[
        Boolean, Setting("Whether what depositors publish waits until a librarian has looked at it.", default="false")
    ]
    requests: Annotated[
        Boolean, Setting("Whether readers can ask for restricted files, and write to depositors.", default="true")
    ]
    request_days: Annotated[
        Days, Setting("After how many days what readers wrote there is deleted, with their addresses.", default="180")
    ]


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[mail]`: the server that sends e-mail."""

    server: Annotated[
        ListeningHost | None,
        Setting(
            "The mail server for invitations, new passwords, reviews, requests of readers, damage and registrations;"
            " without it no mail is sent."
        ),
    ]
    port: Annotated[Port, Setting("The port of the mail server.", default="587")]
    security: Annotated[
        Literal["starttls", "tls", "none"],
        Setting(
            "How the way to the mail server is kept private; `none` is for one on this machine or in your own network.",
            default="starttls",
        ),
    ]
    user: Annotated[MailUser | None, Setting("The name by which the mail server knows this one, if it wants to know.")]
    password: Annotated[Password | None, Setting("The password that goes with `mail.user`.")]
    sender: Annotated[
        MailAddress | None,
        Setting("The address from which mail is sent, and to which administrators answer; needed with `mail.server`."),
    ]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. Those of a section are attributes of the section. `load_settings` creates it."""

    data: Annotated[
        FilePath,
        Setting("The directory that holds everything this installation keeps.", default="./ibi-data", metavar="DIR"),
    ]
    config: Annotated[
        FilePath | None,
        Setting(
            "The file to read settings from, instead of `ibi.toml` in the data directory.",
            metavar="FILE",
            in_file=False,
        ),
    ]
    host: Annotated[
        ListeningHost, Setting("The address on which the services listen.", default="127.0.0.1", metavar="HOST")
    ]
    port: Annotated[
        ListeningPort,
        Setting("The port on which the services listen; 0 takes any that is free.", default="8765", metavar="N"),
    ]
    public_url: Annotated[
        Url | None,
        Setting(
            "The address at which readers reach this Archive; without it `http://` and the host and port on which the"
            " services listen."
        ),
    ]
    content_url: Annotated[
        Url | None,
        Setting(
            "The address at which the files of items are served, on a host of their own where nothing else is;"
            " without it `public_url`."
        ),
    ]
    hosts: Annotated[
        HostNames | None,
        Setting(
            "Further names under which pages and files are served, each with a port or for any port; those of"
            " `public_url` and `content_url`, the addresses on which the services listen, and loopback always are."
        ),
    ]
    resolver: Annotated[
        Url | None, Setting("The resolver to which persistent URLs lead; without it this Archive itself.")
    ]
    trusted_proxies: Annotated[
        Networks | None,
        Setting(
            "The networks of proxies that are believed when they say for whom they ask (`X-Forwarded-For`); without"
            " it none is."
        ),
    ]
    connections_per_client: Annotated[
        Bound,
        Setting(
            "How many connections one client may have at a time, an IPv6 client being a network of 64 bits and"
            " `trusted_proxies` not being counted; 0 for any number.",
            default="256",
        ),
    ]
    roles: Annotated[
        Roles,
        Setting(
            "What this server is: `archive` mints and keeps items, `resolver` leads persistent URLs to where items are;"
            " a `resolver` alone, with another as `resolver`, is a replica that reads that one's register.",
            default="archive resolver",
        ),
    ]
    workers: Annotated[
        WorkersOrAuto,
        Setting(
            "How many processes serve; `auto` is one for each processor, and one alone in a sandbox.", default="auto"
        ),
    ]
    """None means `auto`."""
    # Not in a file: commands on a data directory must not go elsewhere unnoticed, and files are no place for tokens.
    server: Annotated[
        Url | None,
        Setting(
            "The running server that a command asks, instead of working on a data directory.",
            metavar="URL",
            in_file=False,
        ),
    ]
    token: Annotated[
        TokenText | None,
        Setting(
            "The token shown to the server; better given as a variable, because other users of a machine see flags.",
            metavar="TOKEN",
            in_file=False,
        ),
    ]
    registration_key: Annotated[
        ArchiveKey | None,
        Setting(
            "The key of the Archive that `ibi resolver register` registers; without it the key is asked for.",
            in_file=False,
        ),
    ]
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Setting("The least important kind of event that is logged.", default="info", metavar="LEVEL"),
    ]
    log_format: Annotated[
        Literal["console", "json"],
        Setting("How events are logged: for people, or one JSON object a line.", default="console", metavar="FORMAT"),
    ]
    lock_dir: Annotated[
        FilePath | None,
        Setting(
            "The directory, common to a machine, of the locks that keep two data directories from minting as one"
            " identity; without it the first usable of `/run/lock/ibi`, `/var/lock/ibi` and `ibi-locks` among the"
            " temporary files."
        ),
    ]
    mint: MintSettings
    archive: ArchiveSettings
    resolve: ResolveSettings
    copies: CopySettings
    notify: NotifySettings
    oidc: OidcSettings
    site: SiteSettings
    mail: MailSettings
    file: Path | None
    """The file that was read, if any."""
    sources: Mapping[str, SettingSource] = field(compare=False, repr=False)
    """The source of each value, by the name of the setting."""
    hints: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the user about variables that look like misspelled settings."""

    @property
    def is_remote(self) -> bool:
        """True if a command asks a server: one is given, and no data directory comes from a greater source."""
        return self.server is not None and self.sources["server"] >= self.sources["data"]

    @property
    def own_url(self) -> str:
        """The address at which readers reach this Archive, without a final slash."""
        return self.public_url or f"http://{bracketed(self.host)}:{self.port}"

    def identity(self) -> Identity | None:
        """Return the identity for which labels are minted; None if no host is set. It is not checked to be global."""
        mint = self.mint
        if mint.host is None:
            return None
        return Identity(mint.host, mint.ip, mint.host_port, mint.ip_port, sandbox=mint.sandbox)

    def worker_count(self, processors: int) -> int:
        """Return the number of serving processes on a machine with this number of processors.

        Settings without an identity belong to a sandbox, or to a directory that has been one.
        """
        if self.workers is not None:
            return self.workers
        identity = self.identity()
        is_sandbox = self.has_archive and (identity is None or identity.sandbox)
        return 1 if is_sandbox else min(processors, MOST_WORKERS)

    @property
    def has_archive(self) -> bool:
        """True if labels are minted and items stored here."""
        return "archive" in self.roles

    def rules(self) -> "Rules":
        # Imported here because only commands that mint need it; the others start sooner.
        from ibi.minting.rules.minter import Rules

        mint = self.mint
        return Rules(mint.granularity, mint.wait_bound, mint.behind_limit)


SETTINGS: tuple[NamedSetting, ...] = tuple(declared_settings(Settings))
"""The settings in the order of docs/settings.md."""

SECTIONS: dict[str, type] = declared_sections(Settings)
"""The dataclass of each section of `ibi.toml`, by name."""

_BY_NAME = {one.name: one for one in SETTINGS}


def setting(name: str) -> NamedSetting:
    return _BY_NAME[name]
