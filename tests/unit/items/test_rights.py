"""The rights of accounts on items, cell by cell."""

from __future__ import annotations

from itertools import product

import pytest

from ibi.items.rules.rights import (
    TABLE,
    Belonging,
    ItemAct,
    SiteAct,
    Whose,
    least_scope,
    may,
    may_administer,
    require_right,
    require_site_right,
)
from ibi.people.model.account import COMMAND, Actor, Scope
from ibi.people.rules.errors import NotAllowed, NotYourItem

R, D, E, A, C = Scope.READ, Scope.DEPOSIT, Scope.EDIT, Scope.ADMIN, Scope.COPY
ALL = {R, D, E, A, C}

EXPECTED: dict[ItemAct, tuple[set[Scope], set[Scope], set[Scope]]] = {
    # act: on one's own item, on another's, on the Archive's own
    ItemAct.READ: (ALL, ALL, ALL),
    ItemAct.READ_FILES: ({D, E, A, C}, {E, A, C}, {E, A, C}),
    ItemAct.DEPOSIT: ({D, E, A}, {D, E, A}, {D, E, A}),
    ItemAct.EDIT_DRAFT: ({D, E, A}, {E, A}, {A}),
    ItemAct.PUBLISH: ({E, A}, {E, A}, {A}),
    ItemAct.UPDATE: ({D, E, A}, {E, A}, {A}),
    ItemAct.OPEN: ({D, E, A}, {A}, {A}),
    ItemAct.RELATE: ({D, E, A}, {E, A}, {A}),
    ItemAct.ANSWER: ({D, E, A}, {E, A}, {A}),
    ItemAct.REPLY: ({D, E, A}, {E, A}, {A}),
    ItemAct.DELETE: ({D, E, A}, {E, A}, {A}),
    ItemAct.PURGE: ({A}, {A}, {A}),
    ItemAct.GIVE: ({A}, {A}, {A}),
    ItemAct.COLLECT: ({E, A}, {E, A}, {E, A}),
    ItemAct.CURATE: ({D, E, A}, {E, A}, {E, A}),
}
ITEMS = {
    Whose.OWN: Belonging("l/own", "service:ana"),
    Whose.ANOTHERS: Belonging("l/other", "person:ana"),
    Whose.SERVICE: Belonging("l/service", "service:ana", is_service=True),
}


@pytest.mark.parametrize(("act", "whose", "scope"), list(product(ItemAct, Whose, Scope)))
@pytest.mark.parametrize("is_restricted", [False, True])
def test_each_cell_of_the_table_is_as_expected(
    act: ItemAct, whose: Whose, scope: Scope, *, is_restricted: bool
) -> None:
    who = Actor("service:ana", scope)
    item = Belonging(ITEMS[whose].label, ITEMS[whose].owner, is_restricted, ITEMS[whose].is_service)
    is_public_read = act is ItemAct.READ_FILES and not is_restricted
    allowed = is_public_read or scope in EXPECTED[act][list(Whose).index(whose)]
    assert may(who, act, item) is allowed
    if allowed:
        require_right(who, act, item)
    else:
        with pytest.raises((NotAllowed, NotYourItem)) as refused:
            require_right(who, act, item)
        assert refused.value.parameters["needed"] == str(least_scope(act, whose))


def test_an_item_without_an_owner_belongs_to_the_archive_and_to_no_token() -> None:
    archives = Belonging("l/a", None)
    assert archives.whose(Actor(None, Scope.DEPOSIT)) is Whose.ANOTHERS
    assert not may(Actor(None, Scope.DEPOSIT), ItemAct.UPDATE, archives)
    with pytest.raises(NotYourItem, match=r"l/a belongs to the Archive: changing it .* scope edit\. Yours belongs"):
        require_right(Actor("service:ana", Scope.DEPOSIT), ItemAct.UPDATE, archives)


def test_a_command_on_the_data_directory_may_do_everything() -> None:
    assert all(may(COMMAND, act, item) for act in ItemAct for item in ITEMS.values())


def test_every_act_has_a_scope_that_allows_it_and_more_scope_never_takes_away() -> None:
    assert set(TABLE) == set(product(ItemAct, Whose))
    for scopes in TABLE.values():
        for scope, more in product(Scope, Scope):
            if scope in scopes and more.includes(scope) and scope is not Scope.COPY:
                assert more in scopes


def test_a_person_and_a_service_of_the_same_name_are_two_accounts() -> None:
    assert not may(Actor("person:bia", Scope.DEPOSIT), ItemAct.DELETE, Belonging("l/b", "service:bia"))


SITE_EXPECTED: dict[SiteAct, set[Scope]] = {
    SiteAct.OVERSEE: {E, A},
    SiteAct.READ_USAGE: {E, A},
    SiteAct.VERIFY: {E, A},
    SiteAct.ADMIT: {A},
    SiteAct.SUBSCRIBE: {A},
    SiteAct.READ_STORAGE: {A},
    SiteAct.READ_SETTINGS: {A},
    SiteAct.READ_AUDIT: {A},
}


@pytest.mark.parametrize(("act", "scope"), list(product(SiteAct, Scope)))
def test_each_cell_of_what_concerns_the_archive_as_a_whole_is_as_expected(act: SiteAct, scope: Scope) -> None:
    who, allowed = Actor("person:ana", scope, "t1"), scope in SITE_EXPECTED[act]
    assert may_administer(who, act) is allowed
    if allowed:
        require_site_right(who, act)
    else:
        with pytest.raises(NotAllowed) as refused:
            require_site_right(who, act)
        assert refused.value.parameters["needed"] == str(E if E in SITE_EXPECTED[act] else A)


def test_a_person_who_is_signed_in_is_told_of_roles_and_not_of_tokens() -> None:
    librarian = Actor("person:ana", Scope.EDIT)
    with pytest.raises(NotAllowed, match=r"^This needs the role administrator; yours is librarian\.$"):
        require_site_right(librarian, SiteAct.READ_AUDIT)
    with pytest.raises(
        NotYourItem, match=r"^l/a belongs to bia: making it more visible needs that account, or the role"
    ):
        require_right(librarian, ItemAct.OPEN, Belonging("l/a", "person:bia"))
    with pytest.raises(NotYourItem, match=r"belongs to the Archive itself"):
        require_right(Actor("person:ana", Scope.DEPOSIT), ItemAct.UPDATE, Belonging("l/a", None))
