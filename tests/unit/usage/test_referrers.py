"""From what kind of place a reader came, by the header Referer."""

from __future__ import annotations

import pytest

from ibi.usage.model import ReferrerClass
from ibi.usage.rules.referrers import classify_referrer

OWN = frozenset({"ibi.example", "files.ibi.example:8443"})


@pytest.mark.parametrize(
    ("referrer", "wanted"),
    [
        ("", ReferrerClass.DIRECT),
        ("nonsense", ReferrerClass.DIRECT),
        ("javascript:alert(1)", ReferrerClass.DIRECT),
        ("https:///x", ReferrerClass.DIRECT),
        ("https://a.example/" + "x" * 3000, ReferrerClass.DIRECT),
        ("https://ibi.example/search?q=x", ReferrerClass.HERE),
        ("https://IBI.example", ReferrerClass.HERE),
        ("https://files.ibi.example:8443/col/x", ReferrerClass.HERE),
        ("https://ibi.example:9999/", ReferrerClass.WEB),
        ("https://www.google.com/", ReferrerClass.SEARCH),
        ("https://google.com.br/url?q=x", ReferrerClass.SEARCH),
        ("https://search.yahoo.co.jp/", ReferrerClass.SEARCH),
        ("https://duckduckgo.com/?q=a", ReferrerClass.SEARCH),
        ("https://google.example.museum/", ReferrerClass.WEB),
        ("https://notgoogle.com/", ReferrerClass.WEB),
        ("https://scholar.google.com.br/scholar", ReferrerClass.SCHOLARLY),
        ("https://www.ncbi.nlm.nih.gov/pmc", ReferrerClass.SCHOLARLY),
        ("https://doi.org/10.5281/x", ReferrerClass.SCHOLARLY),
        ("https://evildoi.org/", ReferrerClass.WEB),
        ("https://m.facebook.com/", ReferrerClass.SOCIAL),
        ("https://t.co/x", ReferrerClass.SOCIAL),
        ("https://user:pw@t.co/x", ReferrerClass.SOCIAL),
        ("https://192.0.2.1/", ReferrerClass.WEB),
        ("https://[2001:db8::1]:80/", ReferrerClass.WEB),
        ("https://localhost./", ReferrerClass.WEB),
    ],
)
def test_a_referrer_is_known_by_its_host(referrer: str, wanted: ReferrerClass) -> None:
    assert classify_referrer(referrer, OWN) is wanted
