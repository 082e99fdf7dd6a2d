"""The identity for which labels are minted."""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.standard.label.generate import (
    mount_prefix_of_ibip,
    mount_prefix_of_repository_name,
)
from ibi.standard.label.reach import address_is_global, host_is_global

SANDBOX_HOST = "ibi.localhost"
SANDBOX_IP = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Identity:
    """Host and address, each with the port of its own form; `ip` is None if only repository names are minted.

    `sandbox` is an explicit mark for labels of a trial: nothing guarantees that they are unique (E11).
    """

    host: str
    ip: str | None = None
    host_port: int = 80
    ip_port: int = 800
    sandbox: bool = False
    _prefixes: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """Cached, because every commit reads them."""

    @classmethod
    def of_sandbox(cls, port: int) -> Identity:
        return cls(SANDBOX_HOST, SANDBOX_IP, port, port, sandbox=True)

    @property
    def repository_prefix(self) -> str:
        return mount_prefix_of_repository_name(self.host, self.host_port)

    @property
    def ibip_prefix(self) -> str | None:
        return None if self.ip is None else mount_prefix_of_ibip(self.ip, self.ip_port)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The prefixes that must belong only to this minter: two minters with one prefix would mint the same labels."""
        prefixes = self._prefixes
        if prefixes is None:
            prefixes = tuple(prefix for prefix in (self.repository_prefix, self.ibip_prefix) if prefix)
            object.__setattr__(self, "_prefixes", prefixes)
        return prefixes

    @property
    def is_global(self) -> bool:
        host = self.host.lower().removesuffix(".")
        return host_is_global(host) and (self.ip is None or address_is_global(self.ip))

    @property
    def key(self) -> str:
        """Names the clock of this identity: another identity has another clock."""
        return " ".join(self.prefixes)

    def __str__(self) -> str:
        address = "" if self.ip is None else f" ({self.ip}, port {self.ip_port})"
        return f"{self.host}, port {self.host_port}{address}{', a sandbox' if self.sandbox else ''}"
