"""Tables of the package: lists of licences, types, hosts and words, in files beside the modules that read them.

A table is part of the code, like a literal, so the core may read it: by the loader of its package, with the same
content at every start.
"""

from __future__ import annotations

from collections.abc import Iterator


def read_table(package: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a file of tab-separated values. Lines that begin with `#` name its source."""
    from pkgutil import get_data

    data = get_data(package, name)
    if data is None:
        raise FileNotFoundError(f"the package {package} has no {name}: install it again")
    for line in data.decode().splitlines():
        if not line.startswith("#"):
            yield line.split("\t")
