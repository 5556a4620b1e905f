"""What pyproject.toml cannot say: the version of a tag, README.md without links into the tree, and
records in one packed file.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
EPOCH = 1980, 1, 1, 0, 0, 0  # the same records give the same bytes


def version() -> str:
    """The version: of the last tag, with the commits since, or of the sdist; of CITATION.cff where
    there is neither.
    """
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited, "CITATION.cff has no version"
    try:
        from setuptools_scm import get_version
    except ImportError:  # built without isolation
        return cited[1]
    return str(get_version(root=ROOT, fallback_version=cited[1], local_scheme="no-local-version"))


def without_links(text: str) -> str:
    """*text* [Markdown] without pictures, comments, and links that are not absolute."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    text = re.sub(r"!\[[^]]*]\((?!https?:)[^)]*\)\n*", "", text)
    return re.sub(r"\[([^]]*)]\((?!https?:)[^)]*\)", r"\1", text)


def pack(data: Path) -> None:
    """Put the files of the folder *data* into ``records.zip`` beside it, and take it away."""
    with zipfile.ZipFile(data.with_name("records.zip"), "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(path for path in data.rglob("*") if path.is_file()):
            name = zipfile.ZipInfo(file.relative_to(data).as_posix(), EPOCH)
            name.external_attr = 0o644 << 16
            packed.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    shutil.rmtree(data)


class WithPackedRecords(build_py):
    """Packs the records, which only ``validate``, ``calibrate`` and tests read."""

    def run(self) -> None:
        super().run()
        data = Path(self.build_lib) / "c3sim" / "validation" / "data"
        if not self.editable_mode and data.is_dir():
            pack(data)


if __name__ == "__main__":
    setup(
        version=version(),
        long_description=without_links((ROOT / "README.md").read_text("utf-8")),
        long_description_content_type="text/markdown",
        cmdclass={"build_py": WithPackedRecords},
    )
