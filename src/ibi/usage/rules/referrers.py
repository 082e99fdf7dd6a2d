"""The class of the site that a reader came from, by the header Referer. The address itself is not stored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from ibi.standard.origin import authority_of
from ibi.standard.package_data import read_table
from ibi.usage.model import ReferrerClass

_LONGEST_REFERRER: Final = 2_000


def classify_referrer(referrer: str, own_hosts: frozenset[str]) -> ReferrerClass:
    """Return the class of the site that a reader came from. `own_hosts` are the hosts of this site, with ports.

    A value that is no address counts as none.
    """
    if not referrer or len(referrer) > _LONGEST_REFERRER or not referrer.lower().startswith(("http://", "https://")):
        return ReferrerClass.DIRECT
    authority = authority_of(referrer).rpartition("@")[2].lower()
    host = authority.partition(":")[0].rstrip(".")
    if not host:
        return ReferrerClass.DIRECT
    if authority in own_hosts:
        return ReferrerClass.HERE
    return _class_of_host(host)


@lru_cache(maxsize=4096)
def _class_of_host(host: str) -> ReferrerClass:
    parts = host.split(".")
    if parts[0] == "scholar":
        return ReferrerClass.SCHOLARLY
    domains = [".".join(parts[index:]) for index in range(len(parts) - 1)]
    # The part before the ending matches a site in every country: google.com.br, but not google.example.com.
    names = [f"{part}.*" for part in parts[-3:-1] if len(parts[-1]) <= 3]
    classes = _classes_by_host()
    return next((classes[name] for name in (*domains, *names) if name in classes), ReferrerClass.WEB)


@cache
def _classes_by_host() -> Mapping[str, ReferrerClass]:
    return {host: ReferrerClass(class_) for class_, host in read_table("ibi.usage.rules", "referrer_hosts.tsv")}
