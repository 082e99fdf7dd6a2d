"""E61: easy keys are accepted with a warning, the best known ones only in a sandbox."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from ibi.membership.rules.membership import WeakKey
from ibi.membership.service.registration_admin import Application
from tests.support.membership_app import REP, MembershipApp

EXAMPLE = Application.of_words([REP], "1234567890")  # R Example 7.1
EASY = Application.of_words([REP], "4712345678")


async def test_the_key_of_the_standards_example_is_refused_where_it_matters() -> None:
    resolver = MembershipApp()
    with pytest.raises(WeakKey):
        await resolver.admin.register(EXAMPLE)
    assert resolver.found() is None


async def test_the_key_of_the_example_is_accepted_with_a_warning_in_a_sandbox_and_where_it_is_allowed() -> None:
    for resolver, allowed in ((MembershipApp(sandbox=True), False), (MembershipApp(), True)):
        registered = await resolver.admin.register(EXAMPLE, allow_weak_key=allowed)
        assert resolver.found() == registered.registration
        (warning,) = registered.warnings
        assert "easy to guess" in warning


async def test_an_easy_key_is_accepted_with_a_warning_and_not_shown() -> None:
    resolver = MembershipApp()
    with capture_logs() as logged:
        registered = await resolver.admin.register(EASY)
    (warning,) = registered.warnings
    assert "its digits follow one another" in warning
    assert any(line["log_level"] == "warning" and "easy to guess" in line["event"] for line in logged)
    assert "4712345678" not in f"{logged} {warning}"


async def test_a_key_by_chance_gets_no_warning() -> None:
    registered = await MembershipApp().admin.register(Application.of_words([REP], "7730914258"))
    assert registered.warnings == ()
