"""The laws case by case, whatever file they are in: those of one case share its runs
(support/law_runs.py).
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    laws = [index for index, item in enumerate(items) if _case(item) is not None]
    if not laws:
        return
    from law_cases import CASES

    order = {case: number for number, case in enumerate(map(str, CASES))}
    by_case = sorted((items[index] for index in laws), key=lambda item: order[str(_case(item))])
    for index, item in zip(laws, by_case, strict=True):
        items[index] = item


def _case(item: pytest.Item) -> object | None:
    """The case that a law is tried on."""
    called = getattr(item, "callspec", None)
    of_laws = item.path.parent.name == "laws"
    return called.params.get("case") if called is not None and of_laws else None
