"""What is remembered is bounded by number and by size; what was not looked at for longest goes first."""

from __future__ import annotations

from ibi.standard.lru_cache import LruCache, TaggedLruCache


def kept(most: int = 10, room: int = 100, **sizes: int) -> LruCache[str, str]:
    made: LruCache[str, str] = LruCache(most, room)
    for key, size in sizes.items():
        made.keep(key, key.upper(), size)
    return made


def found(among: LruCache[str, str], keys: str) -> str:
    return "".join(key for key in keys if among.find(key) is not None)


def test_what_is_too_much_together_drives_out_the_oldest() -> None:
    all_of_them = kept(a=40, b=40, c=20)
    assert (found(all_of_them, "abc"), all_of_them.size) == ("abc", 100)
    all_of_them.keep("d", "D", 30)
    assert (found(all_of_them, "abcd"), all_of_them.size) == ("bcd", 90)
    all_of_them.keep("e", "E", 100)
    assert (found(all_of_them, "abcde"), all_of_them.size) == ("e", 100)


def test_what_was_looked_at_is_not_the_oldest() -> None:
    all_of_them = kept(a=40, b=40)
    all_of_them.find("a")
    all_of_them.keep("c", "C", 40)
    assert found(all_of_them, "abc") == "ac"


def test_what_is_bigger_than_all_the_room_is_not_kept_and_drives_nothing_out() -> None:
    all_of_them = kept(a=40)
    all_of_them.keep("b", "B", 101)
    assert (found(all_of_them, "ab"), all_of_them.size) == ("a", 40)


def test_what_takes_the_place_of_another_has_its_own_size() -> None:
    all_of_them = kept(a=40)
    all_of_them.keep("a", "A", 10)
    assert (len(all_of_them), all_of_them.size) == (1, 10)
    all_of_them.keep("a", "A", 101)
    assert (len(all_of_them), all_of_them.size) == (0, 0)


def test_what_is_forgotten_takes_no_room() -> None:
    all_of_them = kept(a=40, b=10)
    all_of_them.forget("a")
    all_of_them.forget("a")
    assert all_of_them.size == 10
    all_of_them.clear()
    assert (len(all_of_them), all_of_them.size) == (0, 0)


def test_the_number_counts_whatever_the_size() -> None:
    all_of_them = kept(most=2, a=1, b=1, c=1)
    assert (found(all_of_them, "abc"), all_of_them.size) == ("bc", 2)
    sizeless: LruCache[int, int] = LruCache(2)
    for number in range(5):
        sizeless.keep(number, number)
    assert (len(sizeless), sizeless.size) == (2, 0)


def test_the_last_stays_alone_whatever_its_size_if_that_is_wanted() -> None:
    all_of_them: LruCache[str, str] = LruCache(10, 100, keeps_last=True)
    all_of_them.keep("a", "A", 40)
    all_of_them.keep("b", "B", 1_000)
    assert (found(all_of_them, "ab"), all_of_them.size) == ("b", 1_000)
    all_of_them.keep("c", "C", 40)
    assert (found(all_of_them, "bc"), all_of_them.size) == ("c", 40)


def tagged(most: int = 10) -> TaggedLruCache[str, str]:
    made: TaggedLruCache[str, str] = TaggedLruCache(most, 100)
    for key in ("ab", "bc", "c"):
        made.keep_tagged(key, key.upper(), frozenset(key), 10)
    return made


def test_what_was_made_of_a_tag_is_forgotten_and_nothing_else() -> None:
    all_of_them = tagged()
    all_of_them.forget_tagged("b")
    assert [all_of_them.find(key) for key in ("ab", "bc", "c")] == [None, None, "C"]
    assert all_of_them.size == 10
    all_of_them.forget_tagged("z")
    assert len(all_of_them) == 1


def test_tags_go_with_their_values_however_those_go() -> None:
    all_of_them = tagged(most=3)
    all_of_them.keep_tagged("x", "X", ("a",))  # drives out `ab`
    assert all_of_them.tags("ab") == ()
    all_of_them.keep_tagged("x", "Y", ("c",))  # in the place of the one before
    all_of_them.forget_tagged("a")
    assert all_of_them.find("x") == "Y"
    all_of_them.clear()
    assert (all_of_them._tags, all_of_them._by_tag) == ({}, {})
    too_large: TaggedLruCache[str, str] = TaggedLruCache(3, 5)
    too_large.keep_tagged("large", "L", ("t",), 6)
    assert (too_large._tags, too_large._by_tag) == ({}, {})
