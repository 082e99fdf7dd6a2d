"""Whatever is sent to the resolver's service: one of the documented answers, quickly, and no key in any of them."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.membership.service.key_check import COMPARED_A_MINUTE
from tests.support.asgi_client import Answer, ask
from tests.support.membership_app import PAIRS, J, MembershipApp, query

KEY = "7730914258"
NAMES = st.sampled_from([*PAIRS, "REGISTRATIONKEY", "url", "%73ervicesubject", ""])
VALUES = st.one_of(
    st.sampled_from([*PAIRS.values(), "exclusionRequest", "urlRequest", KEY, "{", "%00", "%", "+", "\x7f", "%ff"]),
    st.text(max_size=30).map(lambda text: text.replace("&", "%26")),
)


def sent(text: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    async def run() -> Answer:
        resolver = MembershipApp()
        answer = await ask(resolver.service, "GET", f"{J}?{text}", headers)
        await resolver.admin.close()
        return answer

    return asyncio.run(run())


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_any_pairs_get_a_documented_answer(pairs: list[tuple[str, str]]) -> None:
    text = "&".join(f"{name}={value}" for name, value in pairs).encode(errors="replace").decode()
    answer = sent(text)
    assert answer.status in {400, 403}
    assert answer.body.startswith(b"error {")
    assert answer.body.endswith(b"}")
    assert b"\r" not in answer.body
    assert b"\n" not in answer.body
    assert answer.body.isascii()


@pytest.mark.parametrize("name", [*PAIRS, "registrationkey"])
def test_a_key_is_quoted_in_no_answer_wherever_it_stands(name: str) -> None:
    pairs = {**PAIRS, "registrationkey": KEY, name: f"x{KEY}"}
    text = "&".join(f"{each}={value}" for each, value in pairs.items())
    assert KEY.encode() not in sent(f"{text}&registrationkey={KEY}").body
    assert KEY.encode() not in sent(text if name == "registrationkey" else text.replace(f"x{KEY}", KEY)).body


@pytest.mark.parametrize(
    "text",
    [
        "servicesubject=inclusionRequest&" + "a=1&" * 15_000,
        "servicesubject=" + "%41" * 20_000,
        query(archiveaddress="a." * 30_000),
        query(archiveserviceibi="a/" * 30_000),
        query(archiveip=":" * 60_000),
        query(archiveadmemailaddress="a" * 30_000 + "@" + "b." * 15_000),
        query(registrationkey="1" * 60_000),
        query(registrationkey="1" * 30_000 + "-" + "1" * 30_000),
        query() + "&" * 60_000,
    ],
)
def test_long_requests_are_answered_in_no_time(text: str) -> None:
    began = time.process_time()
    answer = sent(text)
    assert answer.status in {400, 403}
    assert time.process_time() - began < 2
    assert len(answer.body) < 2000


async def test_a_flood_of_wrong_keys_takes_bounded_memory_and_lets_the_archive_through() -> None:
    resolver = MembershipApp()
    await resolver.register(key=KEY)
    assert (await resolver.send(query(registrationkey=KEY))).status == 200
    wrong = [
        resolver.send(query(registrationkey="3141592653"), client=f"198.51.{number % 200}.{number % 251}")
        for number in range(300)
    ]
    answers = await asyncio.gather(*wrong, resolver.send(query(registrationkey=KEY)))
    assert answers[-1].status == 200
    statuses = [answer.status for answer in answers[:-1]]
    assert set(statuses) <= {403, 429, 503}
    assert statuses.count(403) <= COMPARED_A_MINUTE
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status in {429, 503})
