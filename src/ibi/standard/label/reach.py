"""Hosts and addresses that are unique on the whole Internet, as opposed to those of local networks (E11)."""

from __future__ import annotations

from functools import lru_cache

# Names that no registry assigns: RFC 2606, RFC 6761, RFC 6762, RFC 7686, RFC 8375, RFC 9476, and ICANN's `.internal`.
# Also those that RFC 6762 appendix G and many routers use in private networks, which ICANN will not delegate.
_LOCAL_DOMAINS = (
    "localhost",
    "local",
    "test",
    "invalid",
    "example",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "onion",
    "alt",
    "home.arpa",
    "localdomain",
    "example.com",
    "example.net",
    "example.org",
)

# Addresses that are not unicast on the whole Internet, by the IANA special-purpose registries. Python's own `is_global`
# changed between patch releases, calls multicast global, and looks through no wrapper.
_LOCAL_NETWORKS = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
# IPv6 assigns global unicast from 2000::/3 alone; these parts of it are reserved. An address that wraps an IPv4 address
# (6to4, Teredo) does not belong to one host for long.
_GLOBAL_UNICAST = "2000::/3"
_SET_ASIDE = ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")


def host_is_global(host: str) -> bool:
    """Return whether a lower-case host name lies outside the domains that are reserved for local use."""
    return not any(host == domain or host.endswith(f".{domain}") for domain in _LOCAL_DOMAINS)


@lru_cache(maxsize=1024)
def address_is_global(text: str) -> bool:
    """Return whether an IP address is unicast and reachable from the whole Internet."""
    from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address_is_global(str(address.ipv4_mapped))
        inside = address in IPv6Network(_GLOBAL_UNICAST)
        return inside and not any(address in IPv6Network(network) for network in _SET_ASIDE)
    return not any(address in IPv4Network(network) for network in _LOCAL_NETWORKS)
