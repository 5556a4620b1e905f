"""Names that become files or folders: none leads out of the place that it is put in."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def check_file_name(text: str, field: str = "name") -> str:
    """*text*, the value of *field*. Raises ValueError: it is no file name."""
    if not _NAME.fullmatch(text):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(
            f"{field} {shown!r} is no file name; must be letters, digits, _ and -, "
            "and begin with no sign"
        )
    return text


FileName = Annotated[str, AfterValidator(check_file_name)]
