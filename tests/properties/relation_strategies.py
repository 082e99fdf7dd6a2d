"""Relations of every shape, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from ibi.standard.languages import COUNTRIES, LANGUAGES, LanguageTag
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation

# R Table 8.1, written out: the item itself and the fourteen modifiers of R Table 8.2
SHAPES = ["", "m", "mt", "u", "ut", "um", "utm", "umt", "utmt", "t", "tu", "tm", "tum", "tmt", "tumt"]

registered_tags = st.builds(
    LanguageTag, st.sampled_from(sorted(LANGUAGES)), st.none() | st.sampled_from(sorted(COUNTRIES))
)
any_tags = st.builds(
    LanguageTag, st.from_regex("[a-z]{2}", fullmatch=True), st.none() | st.from_regex("[A-Z]{2}", fullmatch=True)
)
formats = st.sampled_from(["oai_dc", "OAI_DC", "BibINPE", "bibinpe"]) | st.from_regex(
    "[A-Za-z][A-Za-z0-9_-]{0,70}", fullmatch=True
)


def relations(tags: st.SearchStrategy[LanguageTag] = registered_tags) -> st.SearchStrategy[Relation]:
    steps: dict[str, st.SearchStrategy[Step]] = {
        "u": st.just(LastEdition()),
        "t": st.builds(Translation, st.none() | tags),
        "m": st.builds(Metadata, st.none() | formats),
    }
    return st.sampled_from(SHAPES).flatmap(lambda shape: st.tuples(*(steps[kind] for kind in shape))).map(Relation)
