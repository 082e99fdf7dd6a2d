"""The home's word where the home is an Archive of another make, beside a resolver that is a process of its own.

What an Archive of this make cannot be brought to say: that it has an item no longer and does not say why (R §5.2), or
that it has again what it gave away. And what the resolver's administrator says: vouched, successor, prefix.
"""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.home_world import BROWSER, ResolverWorld, resolver_world
from tests.support.lying_archive import HonestArchive, Lie, LyingArchive

HOME, HOLDER, MIRROR = (
    "old.org/arq/2009/07.21.14.01",
    "holder.org/arq/2009/07.21.14.03",
    "mirror.org/x/2009/07.21.14.04",
)
SECOND = "second.org/arq/2009/07.21.14.05"
OLD_LIAR, NEW_LIAR = "evil.org/old/2009/07.21.14.01", "evil.org/new/2009/07.21.14.02"
SECONDS = 5
REQUIRED = "?ibiurl.requireditemstatus=Original"


class Rules:
    """Two liars, one there before the home and one after it, and Archives that are honest."""

    def __init__(self, world: ResolverWorld) -> None:
        self.world = world
        self.old_liar, self.new_liar = LyingArchive(world.sockets, OLD_LIAR), LyingArchive(world.sockets, NEW_LIAR)
        self.home = HonestArchive(world.sockets, HOME, "127.0.0.33")
        self.holder = HonestArchive(world.sockets, HOLDER, "127.0.0.55")
        self.second = HonestArchive(world.sockets, SECOND, "127.0.0.22")
        self.mirror = HonestArchive(world.sockets, MIRROR, "127.0.0.44", "Copy")
        for archive in (self.old_liar, self.home, self.second, self.holder, self.mirror, self.new_liar):
            world.add(archive)
        self._given = 0

    def label(self) -> str:
        """Of the home, not used before."""
        self._given += 1
        return f"old.org/arq/2010/01.01.00.{self._given:02}"

    def place(self, path: str) -> str:
        """The service to which a link leads, or the status and who is shown."""
        answer = self.world.ask(f"/{path}")
        archives = (self.old_liar, self.new_liar, self.home, self.second, self.holder, self.mirror)
        if answer.status == 302:
            assert answer.location is not None
            return next(each.service for each in archives if answer.location.startswith(f"http://{each.address}/"))
        if answer.status != 300:
            return str(answer.status)
        assert answer.headers["cache-control"] == "no-store"
        claims = {claim["archive"]["address"] for claim in answer.problem["claims"]}
        return " ".join(("300", *sorted(each.service for each in archives if each.address in claims)))

    def await_place(self, path: str, expected: str) -> None:
        """After a change of the register: what another process has changed is seen some milliseconds late, in which
        what was found before is still given (`Registry.recent_version`)."""
        began = time.monotonic()
        while (found := self.place(path)) != expected:
            assert time.monotonic() < began + 10, found


def test_what_a_home_of_another_make_says_and_what_the_administrator_says(tmp_path: Path) -> None:
    with resolver_world(tmp_path) as world:
        rules = Rules(world)
        transferred = rules.label()
        check_home_without_the_original(rules)
        check_home_restored_from_a_backup(rules, transferred)
        check_what_another_process_was_told(rules)
        homeless = "moved.org/x/2010/01.01.00.01"
        rules.old_liar.lies[homeless] = Lie.ORIGINAL
        assert rules.place(homeless) == OLD_LIAR  # no Archive is registered for its prefix
        world.kill_resolver()
        check_home_restored_from_a_backup(rules, transferred)
        check_home_that_gets_the_prefix_later(rules, homeless)
        check_next_edition_elsewhere(rules)
        check_silent_home(rules, transferred)
        check_setting(rules)


def check_home_without_the_original(rules: Rules) -> None:
    """Rule 5: one claim of the Original is followed, two are shown, nothing is remembered."""
    for keeps_copy in (False, True):
        for required in ("", REQUIRED):
            label = rules.label()
            if keeps_copy:
                rules.home.holds.add(label)
            rules.home.state = "Copy"
            rules.old_liar.lies[label] = Lie.ORIGINAL
            assert rules.place(label + required) == OLD_LIAR
            followed = rules.world.ask(f"/{label}{required}").headers["cache-control"]
            assert followed in ("no-store", "max-age=0"), followed
            rules.new_liar.lies[label] = Lie.ORIGINAL
            assert rules.place(f"{label}{required or '?a=1'}") == f"300 {NEW_LIAR} {OLD_LIAR}"
            # The item is there at last, and the link leads to it from that moment.
            rules.home.state = "Original"
            rules.home.holds.add(label)
            assert rules.place(label + required) == HOME


def check_home_restored_from_a_backup(rules: Rules, label: str) -> None:
    """Rule 2: once it has named a successor, neither its Original nor its silence takes the item back."""
    rules.holder.holds.add(label)
    rules.old_liar.lies[label] = Lie.ORIGINAL
    rules.home.transferred_to, rules.home.state = HOLDER, "Original"
    assert rules.place(label) == HOLDER
    rules.home.transferred_to = None
    rules.home.holds.add(label)
    for suffix in ("", REQUIRED, "?again"):
        assert rules.place(label + suffix) == HOLDER
    rules.home.holds.discard(label)


def check_what_another_process_was_told(rules: Rules) -> None:
    """Rule 2: beliefs are those of the data directory."""
    label = rules.label()
    rules.holder.holds.add(label)
    rules.home.transferred_to = HOLDER
    told = rules.world.resolver("resolve", label, "--data", str(rules.world.resolver.data))
    assert (told.code, told.out) == (0, f"http://{rules.holder.address}/held/{label}\n"), told
    rules.home.transferred_to = None
    rules.home.holds.add(label)
    assert rules.place(label) == HOLDER


def check_home_that_gets_the_prefix_later(rules: Rules, label: str) -> None:
    """Rules 1 and 2: what was learned without a home yields to a home that the administrator names."""
    assert rules.place(label) == OLD_LIAR
    rules.home.holds.add(label)
    rules.world.change(HOME, "--prefix", "moved.org/x")
    rules.await_place(label, HOME)
    assert rules.place(label + REQUIRED) == HOME
    rules.world.change(HOME, "--remove-prefix", "moved.org/x")


def check_next_edition_elsewhere(rules: Rules) -> None:
    """Rule 4: the home's word on editions is final; of the next one its own home decides, silent or not."""
    for state in (Lie.ORIGINAL, Lie.POINTER, Lie.DELETED):
        label, later = rules.label(), f"second.org/arq/2011/01.01.00.{len(rules.second.holds):02}"
        rules.home.holds.add(label)
        rules.home.next_editions[label] = later
        rules.second.holds.add(later)
        rules.old_liar.lies |= dict.fromkeys((label, later), state)
        for modifier in ("!", f"!{REQUIRED}", "!:(oai_dc)"):
            assert rules.place(label + modifier) == SECOND
        rules.world.sockets.shut(rules.second.listener)
        for modifier in ("!", f"!{REQUIRED}", "!/a.txt"):
            assert rules.place(label + modifier) == ("502" if state is Lie.DELETED else f"300 {OLD_LIAR}")
        rules.world.sockets.reopen(rules.second.listener)


def check_silent_home(rules: Rules, transferred: str) -> None:
    """Rule 3: followed is who is vouched for, or named as the successor of one that is gone."""
    world, label, unclaimed = rules.world, rules.label(), rules.label()
    rules.old_liar.lies[label] = rules.new_liar.lies[label] = Lie.ORIGINAL
    rules.mirror.holds.add(label)
    world.sockets.shut(rules.home.listener)
    assert rules.place(label) == f"300 {NEW_LIAR} {OLD_LIAR} {MIRROR}"
    assert rules.place(label + REQUIRED) == f"300 {NEW_LIAR} {OLD_LIAR}"
    assert rules.place(unclaimed) == "502"
    assert rules.place(transferred) == HOLDER
    page = world.ask(f"/{label}", BROWSER)
    assert (page.status, page.headers["cache-control"], page.location) == (300, "no-store", None)
    for where in (("--data", str(world.resolver.data)), ("--server", f"http://{world.address}")):
        told = world.resolver("resolve", label, *where)
        assert (told.code, told.out, told.err.count("\n")) == (1, "", 1), told
        assert f"{rules.home.address}, which decides about {label}, does not answer." in told.err
    rules.mirror.max_age = 3600
    world.change(MIRROR, "--vouched")
    rules.await_place(label, MIRROR)
    kept_for = world.ask(f"/{label}").headers["cache-control"].removeprefix("max-age=")
    assert int(kept_for) <= SECONDS  # the home may come back the next moment
    world.change(MIRROR, "--not-vouched")
    rules.await_place(label, f"300 {NEW_LIAR} {OLD_LIAR} {MIRROR}")
    rules.holder.holds.add(label)
    world.change(HOME, "--successor", HOLDER)
    rules.await_place(label, HOLDER)
    world.change(HOME, "--no-successor")
    rules.await_place(label, f"300 {NEW_LIAR} {OLD_LIAR} {HOLDER} {MIRROR}")
    world.sockets.shut(rules.holder.listener)  # its successor is silent too
    assert rules.place(transferred) == f"300 {OLD_LIAR}"
    assert rules.place(transferred + REQUIRED) == f"300 {OLD_LIAR}"
    beliefs = world.beliefs()
    assert not [row for name in ("successors", "copies") for row in beliefs[name] if "evil.org" in str(row)]


def check_setting(rules: Rules) -> None:
    """`resolve.unproven = follow` leads to what is claimed, and nothing of that is kept."""
    rules.world.kill_resolver(IBI_RESOLVE_UNPROVEN="follow")
    label, before = rules.label(), rules.world.beliefs()
    rules.old_liar.lies[label] = Lie.ORIGINAL
    for _ in range(2):
        assert rules.place(label) == OLD_LIAR
        assert rules.world.ask(f"/{label}").headers["cache-control"] == "no-store"
    assert rules.world.beliefs() == before
