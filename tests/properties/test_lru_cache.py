"""What is kept of many things: never more than allowed, and always the ones looked at last."""

from __future__ import annotations

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.lru_cache import LruCache

KEYS = st.integers(0, 6)
STEPS = st.lists(st.one_of(st.tuples(st.just("keep"), KEYS), st.tuples(st.sampled_from(["find", "forget"]), KEYS)))


@given(most=st.integers(1, 4), steps=STEPS)
def test_a_cache_behaves_like_a_plain_list_of_those_used_last(most: int, steps: list[tuple[str, int]]) -> None:
    kept: LruCache[int, str] = LruCache(most)
    model: OrderedDict[int, str] = OrderedDict()
    for number, (step, key) in enumerate(steps):
        if step == "keep":
            kept.keep(key, str(number))
            model[key] = str(number)
            model.move_to_end(key)
            if len(model) > most:
                model.popitem(last=False)
        elif step == "forget":
            kept.forget(key)
            model.pop(key, None)
        else:
            if key in model:
                model.move_to_end(key)
            assert kept.find(key) == model.get(key)
        assert len(kept) == len(model) <= most
