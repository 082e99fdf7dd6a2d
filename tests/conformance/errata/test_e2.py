"""E2: English G Table 6.1 makes the port mandatory; it is optional."""

from __future__ import annotations

import pytest

from ibi import RepositoryName


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("sid.inpe.br/mtc-m19/2010/08.25.12.38", 80),
        ("sid.inpe.br/mtc-m19.8080/2010/08.25.12.38", 8080),
        ("sid.inpe.br/mtc-m19@8080/2010/08.25.12.38", 8080),
    ],
)
def test_the_port_is_optional(text: str, port: int) -> None:
    label = RepositoryName.parse(text)
    assert label.port == port
    assert label.host == "mtc-m19.sid.inpe.br"


def test_the_sign_before_the_port_is_not_optional() -> None:
    """As printed, `["." | "@"] port` would read the 19 of `mtc-m19` as a port."""
    assert RepositoryName.parse("sid.inpe.br/mtc-m19/2010/08.25.12.38").host == "mtc-m19.sid.inpe.br"
