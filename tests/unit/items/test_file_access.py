"""The rule for withheld files, row by row: the reader, the item, and the access."""

from __future__ import annotations

import pytest

from ibi.items.model.item import Item, Tombstone
from ibi.items.model.visibility import Visibility
from ibi.items.rules.file_access import (
    FileAccess,
    access_by_address,
    access_by_link,
    access_by_right,
    is_withheld_from_some,
    list_access_of_all,
    require_access_by_right,
    require_access_of_program,
    version_access_by_address,
)
from ibi.items.service.file_selection import unread_files
from ibi.people.model.account import Actor, Scope
from ibi.people.rules.errors import NotAllowed, NotAuthenticated, NotYourItem
from ibi.requests.model import ReaderInquiry, RequestKind, RequestState
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from ibi.standard.messages.values import ip_addresses
from ibi.standard.networks import network
from ibi.standard.vocabulary import State
from tests.support.flat_items import replace

NOW = Instant(1_700_000_000)
LATER = Instant(1_800_000_000)
LABELS = LabelForms.of(parse("lab.br/arq/2021/05.06.07.08"))
SERVICE = LabelForms.of(parse("lab.br/arq/2020/01.02.03.04"))
INSIDE, OUTSIDE = ip_addresses("150.163.2.175"), ip_addresses("9.9.9.9")

PUBLIC = Item(labels=LABELS, created=NOW, updated=NOW, owner="service:ana", files=unread_files(["a.txt"]))
OF_NETWORK = replace(PUBLIC, visibility=Visibility((network("150.163.0.0/16"),)))
EMBARGOED = replace(PUBLIC, visibility=Visibility(embargo=LATER))
UNLISTED = replace(PUBLIC, visibility=Visibility(listing=False))
DELETED = replace(PUBLIC, files=(), state=State.DELETED, tombstone=Tombstone(NOW, "an error"))

ANA, RUI = "service:ana", "service:rui"
OPEN, WITHHELD, BY_RIGHT, BY_LINK = FileAccess.OPEN, FileAccess.WITHHELD, FileAccess.BY_RIGHT, FileAccess.BY_LINK


@pytest.mark.parametrize(
    ("item", "at", "now", "access"),
    [
        (PUBLIC, OUTSIDE, NOW, OPEN),
        (PUBLIC, (), NOW, OPEN),
        (UNLISTED, OUTSIDE, NOW, OPEN),
        (OF_NETWORK, INSIDE, NOW, OPEN),
        (OF_NETWORK, OUTSIDE, NOW, WITHHELD),
        (OF_NETWORK, (), NOW, WITHHELD),
        (EMBARGOED, INSIDE, NOW, WITHHELD),
        (EMBARGOED, OUTSIDE, LATER, OPEN),
    ],
)
def test_a_reader_at_an_address(item: Item, at: tuple, now: Instant, access: FileAccess) -> None:  # type: ignore[type-arg]
    assert access_by_address(item, at, now) is access
    assert version_access_by_address(item, at, now) is access
    assert bool(access) is (access is not WITHHELD)


def test_earlier_versions_of_a_deleted_item_are_open_to_no_address() -> None:
    assert version_access_by_address(DELETED, INSIDE, NOW) is WITHHELD


@pytest.mark.parametrize(
    ("who", "access", "refusal"),
    [
        (Actor(ANA, Scope.DEPOSIT), BY_RIGHT, None),
        (Actor(ANA, Scope.READ), WITHHELD, NotAllowed),
        (Actor(RUI, Scope.READ), WITHHELD, NotAllowed),
        (Actor(RUI, Scope.DEPOSIT), WITHHELD, NotYourItem),
        (Actor(RUI, Scope.EDIT), BY_RIGHT, None),
        (Actor(RUI, Scope.ADMIN), BY_RIGHT, None),
        (Actor(RUI, Scope.COPY), BY_RIGHT, None),
    ],
)
@pytest.mark.parametrize("item", [OF_NETWORK, EMBARGOED, DELETED])
def test_an_account(item: Item, who: Actor, access: FileAccess, refusal: type[Exception] | None) -> None:
    assert access_by_right(item, SERVICE, who, NOW) is access
    if refusal is None:
        require_access_by_right(item, SERVICE, who, NOW)
    else:
        with pytest.raises(refusal):
            require_access_by_right(item, SERVICE, who, NOW)


def test_the_owner_of_the_own_item_of_the_archive_has_no_right_by_that() -> None:
    assert access_by_right(OF_NETWORK, LABELS, Actor(ANA, Scope.DEPOSIT), NOW) is WITHHELD
    assert access_by_right(OF_NETWORK, LABELS, Actor(RUI, Scope.EDIT), NOW) is BY_RIGHT


def test_a_program_needs_a_token_for_files_that_some_readers_do_not_get() -> None:
    require_access_of_program(PUBLIC, SERVICE, None, NOW)
    require_access_of_program(PUBLIC, SERVICE, Actor(RUI, Scope.READ), NOW)
    require_access_of_program(OF_NETWORK, SERVICE, Actor(ANA, Scope.DEPOSIT), NOW)
    with pytest.raises(NotAuthenticated):
        require_access_of_program(OF_NETWORK, SERVICE, None, NOW)
    with pytest.raises(NotYourItem):
        require_access_of_program(EMBARGOED, SERVICE, Actor(RUI, Scope.DEPOSIT), NOW)


GRANTED = ReaderInquiry(
    kind=RequestKind.COPY,
    item=str(LABELS.rep),
    title="",
    owner=ANA,
    name="Eva",
    mail="eva@x.example",
    text="",
    network="",
    made=0,
    state=RequestState.GRANTED,
    expires=100,
)


@pytest.mark.parametrize(
    ("item", "request_", "now", "access"),
    [
        (OF_NETWORK, GRANTED, 99, BY_LINK),
        (EMBARGOED, GRANTED, 99, BY_LINK),
        (OF_NETWORK, GRANTED, 100, WITHHELD),
        (OF_NETWORK, replace(GRANTED, revoked=50), 99, WITHHELD),
        (OF_NETWORK, replace(GRANTED, state=RequestState.DECLINED), 99, WITHHELD),
        (OF_NETWORK, replace(GRANTED, state=RequestState.WAITING, expires=None), 99, WITHHELD),
        (DELETED, GRANTED, 99, WITHHELD),
        (None, GRANTED, 99, WITHHELD),
    ],
)
def test_the_holder_of_a_link(item: Item | None, request_: ReaderInquiry, now: int, access: FileAccess) -> None:
    assert access_by_link(item, request_, now) is access


def test_the_list_of_files_is_open_unless_the_item_hides_it() -> None:
    assert list_access_of_all(EMBARGOED) is OPEN
    assert list_access_of_all(UNLISTED) is WITHHELD


def test_files_are_withheld_from_some_where_there_are_files_that_not_all_get() -> None:
    assert not is_withheld_from_some(PUBLIC, NOW)
    assert is_withheld_from_some(OF_NETWORK, NOW)
    assert is_withheld_from_some(EMBARGOED, NOW)
    assert not is_withheld_from_some(EMBARGOED, LATER)
    assert not is_withheld_from_some(replace(EMBARGOED, files=()), NOW)
