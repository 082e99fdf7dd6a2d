"""The prefix by which the home of a label is found: who could have minted it (G §6.1, §7.1).

`host`, `host.80` and `host@80` make three different labels (E3), yet one host and port minted all of them: for finding
the home they are one prefix. R Example 10.2 needs this.
"""

from __future__ import annotations

from functools import lru_cache

from ibi.errors import InvalidLabel
from ibi.label.ibip import read_ibip
from ibi.label.label import Label
from ibi.label.repository_name import DEFAULT_PORT, RepositoryName, canonical_prefix


def home_prefix(label: Label) -> str:
    """The prefix in lower case, the port in its generated spelling. Only that of a repository name has a `/`."""
    return _of_repository_name(label.prefix) if isinstance(label, RepositoryName) else label.prefix.lower()


@lru_cache(maxsize=16_384)
def _of_repository_name(prefix: str) -> str:
    subdomain, _, word = prefix.partition("/")
    name, _, port = word.replace("@", ".").partition(".")
    return f"{subdomain}/{name}" if not port or int(port) == DEFAULT_PORT else f"{subdomain}/{name}.{port}"


def parse_home_prefix(text: str) -> str:
    """The prefix of either form that a person gives, as `home_prefix` writes it; `InvalidLabel` if it is none."""
    if "/" in text:
        prefix = canonical_prefix(text)
        if prefix is None:
            raise InvalidLabel(text, 0, "no prefix of a repository name, such as sid.inpe.br/mtc-m18")
        return _of_repository_name(prefix)
    if read_ibip(f"{text}/2") is None:
        raise InvalidLabel(text, 0, "no prefix of an IBIp, such as 8JMKD3MGP8W")
    return text.lower()
