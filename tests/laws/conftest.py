"""The modules of laws show the figures of what they assert, as tests do."""

import pytest

pytest.register_assert_rewrite(
    "laws_of_times", "laws_of_rates", "laws_of_energy", "laws_of_links", "law_network"
)
