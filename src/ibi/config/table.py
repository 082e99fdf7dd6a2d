"""Every setting there is."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.config.kinds import (
    ADDRESS,
    BOOLEAN,
    GRANULARITY,
    HOST,
    LISTENING_HOST,
    LISTENING_PORT,
    MAIL_ADDRESS,
    PATH,
    PORT,
    REGISTRATION_KEY,
    SECRET,
    URL,
    Kind,
    choice,
    seconds,
)

__all__ = ["SETTINGS", "Setting", "setting"]


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
        "resolver",
        "IBI_RESOLVER",
        None,
        URL,
        None,
        "The resolver to which persistent URLs lead; without it this Archive itself.",
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
)

_BY_NAME = {one.name: one for one in SETTINGS}


def setting(name: str) -> Setting:
    return _BY_NAME[name]
