"""Every setting there is."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.config.kinds import (
    ADDRESS,
    BOOLEAN,
    BOUND,
    CONNECTIONS,
    DAYS,
    GRANULARITY,
    HOST,
    HOSTS,
    LISTENING_HOST,
    LISTENING_PORT,
    MAIL_ADDRESS,
    MAIL_USER,
    NETWORKS,
    PASSWORD,
    PATH,
    PERCENT,
    PORT,
    REGISTRATION_KEY,
    SECRET,
    SERVICES,
    SITE_NAME,
    SIZE,
    SIZE_BOUND,
    URL,
    Kind,
    choice,
    seconds,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, and the ways to give it."""

    name: str
    """The attribute of `Settings` and the key in `ibi.toml`: `mint.host` is `host` under `[mint]`."""
    variable: str
    flag: str | None
    kind: Kind
    default: str | None
    """As one would write it; None where there is none."""
    help: str
    """One sentence."""
    in_file: bool = True

    @property
    def key(self) -> str | None:
        """Its key in `ibi.toml`, None if it cannot stand there."""
        return self.name if self.in_file else None

    @property
    def option_help(self) -> str:
        """For the help of the command."""
        default = "" if self.default is None else f", default {self.default}"
        return f"{self.help} [{self.variable}{default}]"


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "data",
        "IBI_DATA",
        "--data",
        PATH,
        "./ibi-data",
        "The directory that holds everything this installation keeps.",
    ),
    Setting(
        "config",
        "IBI_CONFIG",
        "--config",
        PATH,
        None,
        "The file to read settings from, instead of `ibi.toml` in the data directory.",
        in_file=False,
    ),
    Setting(
        "host",
        "IBI_HOST",
        "--host",
        LISTENING_HOST,
        "127.0.0.1",
        "The address on which the services listen.",
    ),
    Setting(
        "port",
        "IBI_PORT",
        "--port",
        LISTENING_PORT,
        "8765",
        "The port on which the services listen; 0 takes any that is free.",
    ),
    Setting(
        "public_url",
        "IBI_PUBLIC_URL",
        None,
        URL,
        None,
        "The address at which readers reach this Archive; without it `http://` and the host and port on which the"
        " services listen.",
    ),
    Setting(
        "content_url",
        "IBI_CONTENT_URL",
        None,
        URL,
        None,
        "The address at which the files of items are served, on a host of their own where nothing else is; without it"
        " `public_url`.",
    ),
    Setting(
        "hosts",
        "IBI_HOSTS",
        None,
        HOSTS,
        None,
        "Further names under which pages and files are served, each with a port or for any port; those of `public_url`"
        " and `content_url`, the addresses on which the services listen, and loopback always are.",
    ),
    Setting(
        "resolver",
        "IBI_RESOLVER",
        None,
        URL,
        None,
        "The resolver to which persistent URLs lead; without it this Archive itself.",
    ),
    Setting(
        "trusted_proxies",
        "IBI_TRUSTED_PROXIES",
        None,
        NETWORKS,
        None,
        "The networks of proxies that are believed when they say for whom they ask (`X-Forwarded-For`); without it"
        " none is.",
    ),
    Setting(
        "connections_per_client",
        "IBI_CONNECTIONS_PER_CLIENT",
        None,
        BOUND,
        "256",
        "How many connections one client may have at a time, an IPv6 client being a network of 64 bits and"
        " `trusted_proxies` not being counted; 0 for any number.",
    ),
    # Not in a file: a data directory that sends its own commands elsewhere is a trap, and a token no matter for a file.
    Setting(
        "server",
        "IBI_SERVER",
        "--server",
        URL,
        None,
        "The running server that a command asks, instead of working on a data directory.",
        in_file=False,
    ),
    Setting(
        "token",
        "IBI_TOKEN",
        "--token",
        SECRET,
        None,
        "The token shown to the server; better given as a variable, because other users of a machine see flags.",
        in_file=False,
    ),
    Setting(
        "registration_key",
        "IBI_REGISTRATION_KEY",
        None,
        REGISTRATION_KEY,
        None,
        "The key of the Archive that `ibi resolver register` registers; without it the key is asked for.",
        in_file=False,
    ),
    Setting(
        "log_level",
        "IBI_LOG_LEVEL",
        "--log-level",
        choice("debug", "info", "warning", "error"),
        "info",
        "The least important kind of event that is logged.",
    ),
    Setting(
        "log_format",
        "IBI_LOG_FORMAT",
        "--log-format",
        choice("console", "json"),
        "console",
        "How events are logged: for people, or one JSON object a line.",
    ),
    Setting(
        "lock_dir",
        "IBI_LOCK_DIR",
        None,
        PATH,
        None,
        "The directory, common to a machine, of the locks that keep two data directories from minting as one"
        " identity; without it the first usable of `/run/lock/ibi`, `/var/lock/ibi` and `ibi-locks` among the temporary"
        " files.",
    ),
    Setting(
        "mint.host",
        "IBI_MINT_HOST",
        None,
        HOST,
        None,
        "The host in whose name labels are minted: one of your own that the whole Internet knows.",
    ),
    Setting(
        "mint.ip",
        "IBI_MINT_IP",
        None,
        ADDRESS,
        None,
        "The address in whose name labels are minted; without it they have no second form, IBIp.",
    ),
    Setting(
        "mint.host_port",
        "IBI_MINT_HOST_PORT",
        None,
        PORT,
        "80",
        "The port that goes with the host in labels; not the one on which the services listen.",
    ),
    Setting(
        "mint.ip_port",
        "IBI_MINT_IP_PORT",
        None,
        PORT,
        "800",
        "The port that goes with the address in labels.",
    ),
    Setting(
        "mint.sandbox",
        "IBI_MINT_SANDBOX",
        None,
        BOOLEAN,
        "false",
        "Whether labels are only for trying out, so that host and address may be anybody's.",
    ),
    Setting(
        "mint.granularity",
        "IBI_MINT_GRANULARITY",
        None,
        GRANULARITY,
        "auto",
        "The seconds between the dates of labels; `auto` takes the longest that keeps everyone's wait within"
        " `mint.wait_bound`.",
    ),
    Setting(
        "mint.wait_bound",
        "IBI_MINT_WAIT_BOUND",
        None,
        seconds("0", "86400"),
        "0.01",
        "How many seconds anyone may have to wait for a label when the granularity is `auto`.",
    ),
    Setting(
        "mint.behind_limit",
        "IBI_MINT_BEHIND_LIMIT",
        None,
        # Two clocks are never read at the very same moment: with a limit near 0 that alone would look like a jump.
        seconds("0.1", "86400"),
        "5",
        "How many seconds the clock may be behind the last label, or jump, before minting refuses.",
    ),
    Setting(
        "archive.registration_key",
        "IBI_ARCHIVE_REGISTRATION_KEY",
        None,
        REGISTRATION_KEY,
        None,
        "The key with which this Archive is registered at its resolver; without it, or without `resolver`, the Archive"
        " does not ask to be included.",
    ),
    Setting(
        "archive.admin_email",
        "IBI_ARCHIVE_ADMIN_EMAIL",
        None,
        MAIL_ADDRESS,
        None,
        "The e-mail address of who runs this Archive, as its resolver is told it.",
    ),
    Setting(
        "archive.ip",
        "IBI_ARCHIVE_IP",
        None,
        ADDRESS,
        None,
        "The address of the machine that serves this Archive, as its resolver is told it; without it `mint.ip`.",
    ),
    Setting(
        "archive.largest_deposit",
        "IBI_ARCHIVE_LARGEST_DEPOSIT",
        None,
        SIZE,
        "100 GB",
        "How much may be sent to a server for one item or one update of it, all files together.",
    ),
    Setting(
        "archive.draft_days",
        "IBI_ARCHIVE_DRAFT_DAYS",
        None,
        DAYS,
        "30",
        "After how many days without a change a draft is removed.",
    ),
    Setting(
        "archive.most_drafts",
        "IBI_ARCHIVE_MOST_DRAFTS",
        None,
        BOUND,
        "100",
        "How many drafts one depositor may have at a time; 0 is no bound.",
    ),
    Setting(
        "archive.most_draft_bytes",
        "IBI_ARCHIVE_MOST_DRAFT_BYTES",
        None,
        SIZE_BOUND,
        "100 GB",
        "How much one depositor may have in drafts at a time, files on their way included; 0 is no bound.",
    ),
    Setting(
        "archive.disk_reserve",
        "IBI_ARCHIVE_DISK_RESERVE",
        None,
        SIZE_BOUND,
        "1 GB",
        "How much the drafts of all depositors leave free on the disk; 0 lets them fill it.",
    ),
    Setting(
        "archive.copies_at",
        "IBI_ARCHIVE_COPIES_AT",
        None,
        SERVICES,
        None,
        "The service labels of the Archives that hold Copies of the items here, at most 32: resolvers are told of"
        " them, and ask them while this Archive does not answer.",
    ),
    Setting(
        "archive.draft_share",
        "IBI_ARCHIVE_DRAFT_SHARE",
        None,
        PERCENT,
        "50",
        "How many percent of what the disk has for drafts those of one depositor may take; 100 lets one take it all.",
    ),
    Setting(
        "archive.verify_days",
        "IBI_ARCHIVE_VERIFY_DAYS",
        None,
        BOUND,
        "30",
        "Within how many days a server reads again everything that is kept, to see that it is whole; 0 is never.",
    ),
    Setting(
        "archive.verify_rate",
        "IBI_ARCHIVE_VERIFY_RATE",
        None,
        SIZE_BOUND,
        "20 MB",
        "How many bytes a second it reads for that at most; 0 is no bound.",
    ),
    Setting(
        "resolve.enabled",
        "IBI_RESOLVE_ENABLED",
        None,
        BOOLEAN,
        None,
        "Whether persistent URLs are resolved here, by asking Archives; without it they are, unless `resolver` is"
        " another.",
    ),
    Setting(
        "resolve.budget",
        "IBI_RESOLVE_BUDGET",
        None,
        seconds("0.1", "60"),
        "5",
        "How many seconds a resolution may take in all.",
    ),
    Setting(
        "resolve.hedge_delay",
        "IBI_RESOLVE_HEDGE_DELAY",
        None,
        seconds("0", "10"),
        "0.2",
        "How many seconds Archives that are likely to have an item are ahead of all others, and a better answer may"
        " come after the first.",
    ),
    Setting(
        "resolve.connections_per_archive",
        "IBI_RESOLVE_CONNECTIONS_PER_ARCHIVE",
        None,
        CONNECTIONS,
        "32",
        "How many connections there may be to one Archive at a time, each for one question after the other.",
    ),
    Setting(
        "resolve.misses_per_network",
        "IBI_RESOLVE_MISSES_PER_NETWORK",
        None,
        BOUND,
        "20",
        "How many links a second that are neither kept nor in the Archive here one network may follow in the long run;"
        " each question to another Archive counts as half of one, and 0 is no bound.",
    ),
    Setting(
        "resolve.foreign_urls",
        "IBI_RESOLVE_FOREIGN_URLS",
        None,
        choice("refuse", "confirm"),
        "refuse",
        "What becomes of URLs on hosts that their Archive did not declare: they are refused, or shown for the reader to"
        " confirm.",
    ),
    Setting(
        "resolve.unproven",
        "IBI_RESOLVE_UNPROVEN",
        None,
        choice("confirm", "follow"),
        "confirm",
        "What becomes of claims that only a silent home Archive could prove: they are shown for the reader to confirm,"
        " or followed.",
    ),
    Setting(
        "site.name",
        "IBI_SITE_NAME",
        None,
        SITE_NAME,
        "ibi",
        "What the pages call this place: the name of your library or laboratory.",
    ),
    Setting(
        "mail.server",
        "IBI_MAIL_SERVER",
        None,
        LISTENING_HOST,
        None,
        "The mail server through which the resolver tells administrators that their Archive is registered; without it"
        " no mail is sent.",
    ),
    Setting("mail.port", "IBI_MAIL_PORT", None, PORT, "587", "The port of the mail server."),
    Setting(
        "mail.security",
        "IBI_MAIL_SECURITY",
        None,
        choice("starttls", "tls", "none"),
        "starttls",
        "How the way to the mail server is kept private; `none` is for one on this machine or in your own network.",
    ),
    Setting(
        "mail.user",
        "IBI_MAIL_USER",
        None,
        MAIL_USER,
        None,
        "The name by which the mail server knows this one, if it wants to know.",
    ),
    Setting(
        "mail.password",
        "IBI_MAIL_PASSWORD",
        None,
        PASSWORD,
        None,
        "The password that goes with `mail.user`.",
    ),
    Setting(
        "mail.sender",
        "IBI_MAIL_SENDER",
        None,
        MAIL_ADDRESS,
        None,
        "The address from which mail is sent, and to which administrators answer; needed with `mail.server`.",
    ),
)

_BY_NAME = {one.name: one for one in SETTINGS}


def setting(name: str) -> Setting:
    return _BY_NAME[name]
