"""The settings: the annotation of each field declares its type, default, help and flag.

To add a setting, add a field here or in `sections`. The field determines the key in `ibi.toml`, the variable, the flag,
the help of the command and the row of docs/settings.md. The annotations are read at run time, so this module does
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
        Setting("The host in whose name labels are minted: a host of your own that the whole Internet knows."),
    ]
    ip: Annotated[
        IpAddress | None,
        Setting("The IP address in whose name labels are minted; without it labels have no second form, IBIp."),
    ]
    host_port: Annotated[
        Port,
        Setting("The port that goes with the host in labels; the services may listen on another port.", default="80"),
    ]
    ip_port: Annotated[Port, Setting("The port that goes with the address in labels.", default="800")]
    sandbox: Annotated[
        Boolean,
        Setting("Whether labels are only for trying out, so that any host and address may be set.", default="false"),
    ]
    granularity: Annotated[
        GranularityOrAuto,
        Setting(
            "The seconds between the dates of labels; `auto` chooses the longest interval with which nobody waits"
            " longer than `mint.wait_bound`.",
            default="auto",
        ),
    ]
    """None means `auto`."""
    wait_bound: Annotated[
        Fraction,
        seconds("0", "86400"),
        Setting(
            "The longest time in seconds that anyone may wait for a label when the granularity is `auto`.",
            default="0.01",
        ),
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
            "The key with which this Archive is registered at its resolver; without this key, or without `resolver`,"
            " the Archive does not ask to be included."
        ),
    ]
    admin_email: Annotated[
        MailAddress | None,
        Setting("The e-mail address of the administrator, which this Archive gives to its resolver."),
    ]
    ip: Annotated[
        IpAddress | None,
        Setting(
            "The IP address of the machine that serves this Archive, which the Archive gives to its resolver; without"
            " it `mint.ip`."
        ),
    ]
    largest_deposit: Annotated[
        Size,
        Setting(
            "The largest size of one item, or of one update of an item, that can be sent to a server, all files"
            " together.",
            default="100 GB",
        ),
    ]
    draft_days: Annotated[
        Days, Setting("The number of days without a change after which a draft is removed.", default="30")
    ]
    most_drafts: Annotated[
        Bound, Setting("How many drafts one depositor may have at a time; 0 is no bound.", default="100")
    ]
    most_draft_bytes: Annotated[
        SizeBound,
        Setting(
            "The largest size of all drafts of one depositor at a time, including files that are being sent; 0 is no"
            " bound.",
            default="100 GB",
        ),
    ]
    disk_reserve: Annotated[
        SizeBound,
        Setting(
            "The free disk space that the drafts of all depositors must leave; 0 lets drafts fill the disk.",
            default="1 GB",
        ),
    ]
    relations: Annotated[
        Relations | None,
        Setting(
            "The relations, besides the item itself, that this Archive answers to resolvers; a translation without a"
            " language stands for all languages, and without this setting all relations are answered."
        ),
    ]
    landing_page: Annotated[
        Boolean,
        Setting(
            "Whether a link to an item leads browsers to the page of the item instead of its file; programs, and"
            " links with the name of a file, get the file in either case.",
            default="false",
        ),
    ]
    follow_editions: Annotated[
        Boolean,
        Setting(
            "Whether this Archive answers with the last edition when it has all later editions; if not, resolvers"
            " follow the editions one by one.",
            default="true",
        ),
    ]
    hosts: Annotated[
        HostNames | None,
        Setting(
            "Hosts, besides the host of this Archive, to which URLs of its items lead; the Archive declares these"
            " hosts to resolvers when it is included, so that readers need not confirm such URLs."
        ),
    ]
    copies_at: Annotated[
        CopyHolders | None,
        Setting(
            "The service labels of at most 32 Archives that hold Copies of the items here, either of all items or of"
            " those with certain prefixes; resolvers ask these Archives while this Archive does not answer."
        ),
    ]
    draft_share: Annotated[
        Percent,
        Setting(
            "The share, in percent, of the disk space for drafts that one depositor may use; 100 lets one depositor"
            " use all of it.",
            default="50",
        ),
    ]
    full_text: Annotated[
        Boolean,
        Setting(
            "Whether a server reads the text of PDF, Office, HTML and text files in the background, so that searches"
            " find it; only files that all readers may see are read.",
            default="true",
        ),
    ]
    extract_unconfined: Annotated[
        Boolean,
        Setting(
            "Whether the server reads the text of files and renders Markdown even if the kernel offers neither"
            " Landlock nor seccomp to confine that process; a malicious file that takes over the process can then do"
            " everything that the server can do.",
            default="false",
        ),
    ]
    verify_days: Annotated[
        Bound,
        Setting(
            "The number of days within which a server reads all stored files again to verify them; 0 is never.",
            default="30",
        ),
    ]
    verify_rate: Annotated[
        SizeBound,
        Setting(
            "The maximum number of bytes a second that a server reads for this verification; 0 is no bound.",
            default="20 MB",
        ),
    ]
    dump: Annotated[
        TimeOfDay,
        Setting(
            "The time of day at which a server writes the daily dump of all public records, `/dump.ndjson.gz`.",
            default="off",
        ),
    ]
    """None means `off`."""
    review: Annotated[
        Boolean,
        Setting("Whether every publication of a depositor waits until a librarian has accepted it.", default="false"),
    ]
    requests: Annotated[
        Boolean, Setting("Whether readers can ask for restricted files, and write to depositors.", default="true")
    ]
    request_days: Annotated[
        Days,
        Setting(
            "The number of days after which a request or message of a reader is deleted, together with the reader's"
            " address.",
            default="180",
        ),
    ]


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[mail]`: the server that sends e-mail."""

    server: Annotated[
        ListeningHost | None,
        Setting(
            "The mail server that sends invitations, new passwords and mail about reviews, requests of readers,"
            " damage and registrations; without it no mail is sent."
        ),
    ]
    port: Annotated[Port, Setting("The port of the mail server.", default="587")]
    security: Annotated[
        Literal["starttls", "tls", "none"],
        Setting(
            "How the connection to the mail server is encrypted; use `none` only for a mail server on this machine or"
            " in your own network.",
            default="starttls",
        ),
    ]
    user: Annotated[
        MailUser | None,
        Setting("The user name with which this server signs in to the mail server, if the mail server requires one."),
    ]
    password: Annotated[Password | None, Setting("The password that goes with `mail.user`.")]
    sender: Annotated[
        MailAddress | None,
        Setting(
            "The sender address of all mail, to which administrators of Archives reply; needed with `mail.server`."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Each section is an attribute with its settings. `load_settings` creates the object."""

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
            "The address at which the files of items are served, best on a host that serves nothing else; without it"
            " `public_url`."
        ),
    ]
    hosts: Annotated[
        HostNames | None,
        Setting(
            "Further host names under which pages and files are served, each with a port or for any port; the hosts"
            " of `public_url` and `content_url`, the listening addresses and loopback are always served."
        ),
    ]
    resolver: Annotated[
        Url | None, Setting("The resolver to which persistent URLs lead; without it they lead to this Archive.")
    ]
    trusted_proxies: Annotated[
        Networks | None,
        Setting(
            "The networks of proxies whose header `X-Forwarded-For` is believed; without this setting no proxy is"
            " believed."
        ),
    ]
    connections_per_client: Annotated[
        Bound,
        Setting(
            "The maximum number of connections of one client at a time; an IPv6 client is a network of 64 bits,"
            " connections of `trusted_proxies` are not counted, and 0 is any number.",
            default="256",
        ),
    ]
    roles: Annotated[
        Roles,
        Setting(
            "The roles of this server: `archive` mints labels and keeps items, `resolver` leads persistent URLs to"
            " items; a server with only the role `resolver`, and another server as `resolver`, is a replica that reads"
            " the register of the other.",
            default="archive resolver",
        ),
    ]
    workers: Annotated[
        WorkersOrAuto,
        Setting(
            "The number of processes that serve; `auto` is one process for each processor, but only one in a sandbox.",
            default="auto",
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
        Setting("The lowest level of events that are logged.", default="info", metavar="LEVEL"),
    ]
    log_format: Annotated[
        Literal["console", "json"],
        Setting("How events are logged: for people, or one JSON object a line.", default="console", metavar="FORMAT"),
    ]
    lock_dir: Annotated[
        FilePath | None,
        Setting(
            "The directory, common to a machine, of the locks that keep two data directories from minting with one"
            " identity; without it the first usable directory of `/run/lock/ibi`, `/var/lock/ibi` and `ibi-locks`"
            " among the temporary files."
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
        """True if a command asks a server: a server is given, and no stronger source gives a data directory."""
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

        If the settings have no identity, the data directory is a sandbox, or was one before.
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
