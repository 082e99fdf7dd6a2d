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
            "Whether this server resolves persistent URLs itself, by asking Archives; without this setting it does so"
            " unless `resolver` names another server."
        ),
    ]
    """None means: unless `resolver` names another resolver."""
    budget: Annotated[
        Fraction,
        seconds("0.1", "60"),
        Setting("The longest time in seconds that a whole resolution may take.", default="5"),
    ]
    hedge_delay: Annotated[
        Fraction,
        seconds("0", "10"),
        Setting(
            "The head start in seconds of Archives that are likely to have an item; after all Archives are asked, a"
            " resolution waits as long for an answer better than the first.",
            default="0.2",
        ),
    ]
    connections_per_archive: Annotated[
        Connections,
        Setting(
            "The maximum number of connections to one Archive at a time; each connection carries one question after"
            " the other.",
            default="32",
        ),
    ]
    misses_per_network: Annotated[
        Bound,
        Setting(
            "The number of misses a second that one network may cause in the long run; a miss is a link that is"
            " neither cached nor in the Archive here, each question to another Archive counts as half a miss, and 0 is"
            " no bound.",
            default="20",
        ),
    ]
    foreign_urls: Annotated[
        Literal["holder", "confirm", "refuse"],
        Setting(
            "The treatment of URLs on hosts that their Archive did not declare: `holder` follows those of the item's"
            " holder and asks the reader to confirm those of others, `confirm` asks for all, `refuse` refuses all.",
            default="holder",
        ),
    ]
    client_address: Annotated[
        Literal["full", "network", "none"],
        Setting(
            "The part of a reader's address that other Archives get: all of it, its network (/24, /48) or nothing;"
            " the home of an item, its known holder and the Archive to which the reader is sent get all of it.",
            default="network",
        ),
    ]
    signatures: Annotated[
        Literal["legacy", "prefer", "require"],
        Setting(
            "Which requests of Archives are accepted: `legacy` accepts every request with the right registration key,"
            " `prefer` requires a signature of each Archive whose key is known, `require` accepts only signed"
            " requests.",
            default="prefer",
        ),
    ]
    unproven: Annotated[
        Literal["confirm", "follow"],
        Setting(
            "Whether the reader has to confirm a claim that only a silent home Archive could prove (`confirm`), or"
            " the resolver follows the claim (`follow`).",
            default="confirm",
        ),
    ]


@dataclass(frozen=True, slots=True)
class CopySettings:
    """`[copies]`: Copies of items of other Archives, and the networks that a server may ask. Sizes are in bytes."""

    quota: Annotated[
        SizeBound,
        Setting(
            "The largest size of the files of all Copies of items of other Archives; 0 is no bound except the disk.",
            default="0",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks, besides all public addresses, in which a server asks other Archives for items to copy;"
            " commands on the data directory ask every Archive that they are given."
        ),
    ]
    token: Annotated[
        TokenText | None,
        Setting(
            "The token that `ibi copy` and `ibi refresh` show to the Archive from which they take restricted items,"
            " if no `--token` is given.",
            in_file=False,
        ),
    ]


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """`[notify]`: notifications between this Archive and others."""

    inbox: Annotated[
        Boolean,
        Setting(
            "Whether items here tell other Archives of their claims, and other Archives and services may tell this"
            " Archive of theirs (`/inbox`, COAR Notify).",
            default="true",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks that are not public, in which this Archive may ask other Archives and services and tell them of"
            " claims; a sandbox always may on its own machine."
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
        Setting("The name of the provider on the page to sign in.", default="OpenID Connect"),
    ]
    role: Annotated[
        Literal["none", "reader", "depositor", "librarian"],
        Setting(
            "The role of people whom the provider knows and who have no account here yet; with `none` they get no"
            " account.",
            default="none",
        ),
    ]


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """`[site]`: the description of this place on its pages."""

    name: Annotated[
        SiteName,
        Setting("The name of this site on its pages, such as the name of your library or laboratory.", default="ibi"),
    ]
    description: Annotated[
        Sentence | None,
        Setting("A sentence about this site for the home page, for search engines and for shared links."),
    ]
    contact: Annotated[
        Contact | None,
        Setting("The address at the foot of every page where readers ask for help; a page `contact.md` replaces it."),
    ]
    colour: Annotated[
        Colour | None,
        Setting(
            "The colour of buttons and links; links get a darker or lighter shade of the colour wherever it would be"
            " hard to read."
        ),
    ]
    header_colour: Annotated[
        Colour | None,
        Setting("The colour behind the name at the top of every page; the letters on it are black or white."),
    ]
