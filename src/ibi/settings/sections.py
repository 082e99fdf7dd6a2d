"""Sections of the settings: `[resolve]`, `[copies]`, `[notify]`, `[oidc]` and `[site]`.

Annotations are read at run time: `from __future__ import annotations` would hide them.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from ibi.settings.declaration import Setting
from ibi.settings.kinds import (
    Boolean,
    Bound,
    Colour,
    Connections,
    Contact,
    MailUser,
    Networks,
    Password,
    Sentence,
    SiteName,
    SizeBound,
    TokenText,
    Url,
    seconds,
)


@dataclass(frozen=True, slots=True)
class ResolveSettings:
    """`[resolve]`: whether and how persistent URLs are resolved here. Durations are in seconds."""

    enabled: Annotated[
        Boolean | None,
        Setting(
            "Whether persistent URLs are resolved here, by asking Archives; without it they are, unless `resolver` is"
            " another."
        ),
    ]
    """None means: unless `resolver` names another resolver."""
    budget: Annotated[
        Fraction, seconds("0.1", "60"), Setting("How many seconds a resolution may take in all.", default="5")
    ]
    hedge_delay: Annotated[
        Fraction,
        seconds("0", "10"),
        Setting(
            "How many seconds Archives that are likely to have an item are ahead of all others, and a better answer"
            " may come after the first.",
            default="0.2",
        ),
    ]
    connections_per_archive: Annotated[
        Connections,
        Setting(
            "How many connections there may be to one Archive at a time, each for one question after the other.",
            default="32",
        ),
    ]
    misses_per_network: Annotated[
        Bound,
        Setting(
            "How many links a second that are neither kept nor in the Archive here one network may follow in the long"
            " run; each question to another Archive counts as half of one, and 0 is no bound.",
            default="20",
        ),
    ]
    foreign_urls: Annotated[
        Literal["holder", "confirm", "refuse"],
        Setting(
            "What becomes of URLs on hosts that their Archive did not declare: those of the item's holder are followed"
            " and those of others shown for the reader to confirm, or all are shown, or all refused.",
            default="holder",
        ),
    ]
    client_address: Annotated[
        Literal["full", "network", "none"],
        Setting(
            "What Archives learn of a reader's address: the home of an item, its known holder and an Archive to which"
            " the reader is sent all of it; others all, the network (/24, /48) or nothing.",
            default="network",
        ),
    ]
    signatures: Annotated[
        Literal["legacy", "prefer", "require"],
        Setting(
            "Which requests of Archives are taken: `legacy` those with the right registration key; `prefer` of Archives"
            " whose key is known only those signed with it; `require` only signed ones.",
            default="prefer",
        ),
    ]
    unproven: Annotated[
        Literal["confirm", "follow"],
        Setting(
            "What becomes of claims that only a silent home Archive could prove: they are shown for the reader to"
            " confirm, or followed.",
            default="confirm",
        ),
    ]


@dataclass(frozen=True, slots=True)
class CopySettings:
    """`[copies]`: Copies of items of other Archives, and the networks that a server may ask. Sizes are in bytes."""

    quota: Annotated[
        SizeBound,
        Setting(
            "How much the files of all Copies of items of other Archives may take; 0 is no bound but the disk.",
            default="0",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks, besides all public addresses, in which a server asks other Archives for items to copy; commands"
            " on the data directory ask whichever Archive they are told."
        ),
    ]
    token: Annotated[
        TokenText | None,
        Setting(
            "The token shown to the Archive that `ibi copy` and `ibi refresh` take restricted items from, where no"
            " `--token` is given.",
            in_file=False,
        ),
    ]


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """`[notify]`: notifications between this Archive and others."""

    inbox: Annotated[
        Boolean,
        Setting(
            "Whether items here tell other Archives of the claims they make there, and other Archives and services may"
            " tell this one of theirs (`/inbox`, COAR Notify).",
            default="true",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks in which other Archives and services may be asked and told of claims, though they are not public;"
            " a sandbox always asks those of its own machine."
        ),
    ]


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """`[oidc]`: the OpenID Connect provider by which people may sign in."""

    issuer: Annotated[
        Url | None,
        Setting("The OpenID Connect provider by which people may sign in, as it names itself; without it, none."),
    ]
    client_id: Annotated[
        MailUser | None, Setting("The name by which the provider knows this server; needed with `oidc.issuer`.")
    ]
    client_secret: Annotated[Password | None, Setting("The secret that goes with `oidc.client_id`, if it has one.")]
    name: Annotated[
        SiteName,
        Setting("What the page to sign in calls the provider.", default="OpenID Connect"),
    ]
    role: Annotated[
        Literal["none", "reader", "depositor", "librarian"],
        Setting(
            "The role of people whom the provider knows and who have no account here yet; `none` makes them none.",
            default="none",
        ),
    ]


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """`[site]`: the description of this place on its pages."""

    name: Annotated[
        SiteName, Setting("What the pages call this place: the name of your library or laboratory.", default="ibi")
    ]
    description: Annotated[
        Sentence | None,
        Setting("What this place is, in a sentence: on the home page, in search engines, and where links are shared."),
    ]
    contact: Annotated[
        Contact | None,
        Setting("Where readers ask for help, at the foot of every page; a page `contact.md` takes its place."),
    ]
    colour: Annotated[
        Colour | None,
        Setting(
            "The colour of buttons and links; links get a darker or lighter shade of it wherever it could not be read."
        ),
    ]
    header_colour: Annotated[
        Colour | None,
        Setting("The colour behind the name at the top of every page; the letters on it are black or white."),
    ]
