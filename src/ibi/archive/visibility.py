"""Who is led to the bytes and who to the metadata (R §9.2: CRIARPARURL may go by the client's IP).

The answer to a resolver only chooses a URL. Whoever serves the bytes asks again, of the address that fetches them: what
a resolver says of its clients is not proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.instant import Instant
from ibi.messages.field import IpAddress
from ibi.model.visibility import Visibility

__all__ = ["Reader"]


@dataclass(slots=True)
class Reader:
    """Somebody who asks at some time, and what the answers given to them hang on.

    `addresses` are the user's and those of the proxies between. Inside a network is whoever has one of them there: the
    user behind an institution's proxy has a private one.
    """

    addresses: tuple[IpAddress, ...]
    now: Instant
    depends_on_client: bool = field(default=False, init=False)
    """Whether somebody elsewhere would get another answer: then nobody may keep it for others (E32)."""
    good_until: Instant | None = field(default=None, init=False)
    """When an embargo ends, and the answer with it."""

    def may_see(self, visibility: Visibility) -> bool:
        """Whether the bytes are for this reader now."""
        if visibility.is_public:
            return True
        if visibility.is_embargoed(self.now):
            assert visibility.embargo is not None  # it could not be embargoed else
            self.good_until = min(self.good_until or visibility.embargo, visibility.embargo)
            return False
        self.depends_on_client = self.depends_on_client or bool(visibility.networks)
        return visibility.is_open_to(self.addresses, self.now)
