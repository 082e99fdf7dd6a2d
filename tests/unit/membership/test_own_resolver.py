"""Whether the resolver of the settings is the server itself, however its address is spelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.membership.opening.membership import membership_request
from ibi.settings import load_settings
from ibi.transfers.opening.own_register import resolves_here
from tests.support.archive_app import BASE, SERVICE, archive_app

SPELLINGS = ("http://arq.lab.br", "http://ARQ.lab.br:80/")


@pytest.mark.parametrize("resolver", SPELLINGS)
@pytest.mark.parametrize("public_url", SPELLINGS)
def test_a_default_port_makes_no_difference(resolver: str, public_url: str, tmp_path: Path) -> None:
    key = {"IBI_ARCHIVE_REGISTRATION_KEY": "7730914258"}
    settings = load_settings({"data": tmp_path}, {"IBI_RESOLVER": resolver, **key})
    assert resolves_here(settings, public_url)
    assert membership_request(settings, public_url, SERVICE) is None
    assert archive_app(resolver=resolver).site.resolver is None


def test_another_port_is_another_server(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path}, {"IBI_RESOLVER": f"{BASE}:8080"})
    assert not resolves_here(settings, BASE)
    assert archive_app(resolver=f"{BASE}:8080").site.resolver == f"{BASE}:8080"
