"""How long a resolution waits, how far it goes, and what it refuses to believe."""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.resolver.validity import OF_THE_WHOLE, RULES, Rule

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Times are in seconds."""

    hedge_delay: float = 0.2
    """How long likely Archives are ahead of all others, and better answers may still outrank the first (R §8.2)."""
    patience: float = 1.0
    """How long one question waits for Archives that stay silent before the resolution goes on without them."""
    budget: float = 5.0
    """When the resolution ends with what it has."""
    most_hops: int = 16
    """Of one path from the item asked for (E23)."""
    fair_after: int = 3
    """How many hops one path may be ahead of the other pointers that were given on the way."""
    most_questions: int = 48
    """Of all paths together: each is a request to every Archive."""
    latest_date: int = 300
    """How many seconds a label may be dated later than now: of a later one only the home is asked (E70)."""
    follow_unproven: bool = False
    """Whether claims are followed that only the silent home of a label could prove (E67)."""
    rules: tuple[Rule, ...] = RULES
    url_rules: tuple[Rule, ...] = field(init=False)
    """Those of them that are left for the URLs of an answer that keeps the others."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url_rules", tuple(rule for rule in self.rules if rule not in OF_THE_WHOLE))
