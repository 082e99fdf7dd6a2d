"""How every test here is run: the same examples each time, or many more of them (`make soak`).

Tests leave `max_examples` to the profile, so that a soak multiplies them all.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_EXAMPLES = 100
_SOAK_FACTOR = 100

settings.register_profile("default", derandomize=True, deadline=None, max_examples=_EXAMPLES, print_blob=True)
settings.register_profile(
    "soak",
    derandomize=False,
    deadline=None,
    max_examples=_EXAMPLES * _SOAK_FACTOR,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")
