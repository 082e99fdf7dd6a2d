"""E19: R Table 8.11 wants `state` in an acknowledgment, and Example 8.9 lacks it."""

from __future__ import annotations

import pytest

from ibi.standard.messages import Acknowledgment, State, parse_request

QUERY = (
    "servicesubject=acknowledgment&clientinformation.ipaddress=150.163.2.175&contenttype=Data&url=http://host/x&"
    "url.persistent=http://urlib.net/LK47B6W/362SFKH&urlkey=1424636122"
)


def read(query: str) -> Acknowledgment:
    request = parse_request(query)
    assert isinstance(request, Acknowledgment)
    return request


def test_an_acknowledgment_without_a_state_is_read() -> None:
    assert read(QUERY).state is None


def test_no_acknowledgment_is_made_without_saying_something_of_the_state() -> None:
    given = read(QUERY)
    with pytest.raises(TypeError, match="state"):
        Acknowledgment(  # type: ignore[call-arg]
            client_addresses=given.client_addresses,
            content_type=given.content_type,
            url=given.url,
            persistent_url=given.persistent_url,
            url_key=given.url_key,
        )


@pytest.mark.parametrize("state", [State.ORIGINAL, State.COPY])
def test_a_state_that_is_known_is_sent(state: State) -> None:
    assert f"&state={state.value}&" in read(f"{QUERY}&state={state.value}").to_query()
