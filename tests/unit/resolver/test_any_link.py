"""Whatever is sent to a resolver as a link: an answer that is foreseen, and never a failure of its own."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tests.support.resolver_app import BROWSER, IBIP, REP, A, B, item, resolver_app
from tests.support.scripted_archives import body
from tests.support.scripted_gateway import Script


def only_if_asked(answer: bytes) -> Script:
    return lambda request: answer if str(request.label) in {REP, IBIP} else b""


CIRCLE = body(B, f"rep {REP} ibip {IBIP}", ibi__nextedition=f"{{rep {REP}}}")
APP = resolver_app({A: only_if_asked(item(A)), B: only_if_asked(CIRCLE)})

# What goes over the wire: visible ASCII in a target, bytes of any kind as escapes.
VISIBLE = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#")
PAIRS = st.sampled_from(
    "ibiurl.info=json ibiurl.trace=html ibiurl.trace=json ibiurl.trace=x ibiurl.language=pt ibiurl.verblist=GetFileList"
    " ibiurl.requireditemstatus=Original ibiurl.%74race=html a=b %00 %ff=%".split()
)
ODD = st.one_of(st.sampled_from("/ ! + : ?? ? & = . .. %2e%2e %00 %ff % %E2%80%AE ibi/ rep/".split()), st.text(VISIBLE))
LABELS = st.sampled_from([REP, IBIP, REP.upper(), "lab.br/arq/2010/01.01.01.01", "lab.br/arq/9999/99.99.99.99"])
MODIFIERS = st.sampled_from(["", "!", "+", "+(pt)", "+(xx)", ":", ":(oai_dc)", "!+:", "!!", "??"])
PATHS = st.sampled_from(["", "/", "/a.txt", "/../a", "/%2e%2e/a", "/a//b", "/%E2%80%AE", "."])
LINKS = st.builds("/{}{}{}?{}".format, LABELS, MODIFIERS, PATHS, st.lists(PAIRS, max_size=3).map("&".join))
TARGETS = st.one_of(LINKS, st.lists(st.one_of(LABELS, ODD, PAIRS), max_size=8).map(lambda parts: "/" + "".join(parts)))
HEADERS = st.fixed_dictionaries(
    {
        "accept": st.sampled_from([BROWSER, "*/*", "application/json", "", "json;q=x", "text/html;q=0"]),
        "accept-language": st.sampled_from(["", "pt-BR", "es;q=0.5, en;q=0", "*", ";;;"]),
    }
)


@given(target=TARGETS, headers=HEADERS, method=st.sampled_from(["GET", "HEAD"]))
def test_any_link_has_an_answer_that_is_foreseen(target: str, headers: dict[str, str], method: str) -> None:
    answer = asyncio.run(APP.get(target, headers, method))
    assert answer.status in {200, 302, 400, 404, 409}, (target, answer)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert ("location" in answer.headers) == (answer.status == 302)
    if method == "HEAD":
        assert answer.body == b""
