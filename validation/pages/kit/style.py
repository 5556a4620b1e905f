"""The style sheet and the script of the HTML page.

The colours are Okabe and Ito's, which colour-blind readers can tell apart, for light and dark.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
CSS = (_FOLDER / "page.css").read_text(encoding="utf-8")
SCRIPT = (_FOLDER / "page.js").read_text(encoding="utf-8")
