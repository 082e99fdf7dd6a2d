"""The section `[resolve]` of the settings: whether and how persistent URLs are resolved."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from ibi.config.declaration import Setting
from ibi.config.kinds import Boolean, Bound, Connections, seconds


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
            "What Archives learn of a reader's address: the home of an item and its known holder all of it, others all,"
            " the network (/24, /48) or nothing.",
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
