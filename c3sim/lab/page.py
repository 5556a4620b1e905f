"""One tab of the laboratory: the form at the left, what came out at the right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from nicegui import background_tasks, ui
from nicegui.client import Client

from c3sim.lab import desk, runs, widgets
from c3sim.lab.bench import Bench
from c3sim.lab.choice import Choice
from c3sim.lab.form import Form
from c3sim.lab.runs import Outcome
from c3sim.lab.widgets import put
from c3sim.output.page.page import part
from c3sim.output.page.palette import css

REST = 0.6  # seconds without a change after which the band is computed
SCRIPTS = ("kit", "scales", "timeline", "account")


def head() -> str:
    """Style and script of the page, in one piece, so that nothing else is asked for."""
    own = files("c3sim.lab").joinpath("parts")
    style = css() + part("page.css") + own.joinpath("lab.css").read_text(encoding="utf-8")
    script = "\n".join(part(f"{name}.js") for name in SCRIPTS)
    script += own.joinpath("lab.js").read_text(encoding="utf-8")
    return f"<style>{style}</style><script>{script}</script>"


class Lab:
    """The state of one tab, which simulates on *bench*."""

    def __init__(self, choice: Choice, link: Callable[[Choice], str], bench: Bench) -> None:
        self.choice, self.link, self.bench = choice, link, bench
        self.now = Outcome(choice=choice)
        self.accounts: Mapping[str, Any] | None = None
        self.band: desk.Band | None = None
        self.without = ""  # why there is no band
        self.pinned: tuple[Outcome, Mapping[str, Any] | None] | None = None
        self.version, self.busy = 0, False
        self.client: Client = ui.context.client
        self._build()
        self.changed(choice, False)

    def _build(self) -> None:
        with put("header", class_="bar top"):
            put("h1", "c3sim lab")
            with put("div", class_="controls", role="group", aria_label="What to do with it"):
                self.pin_button = widgets.button("Pin this run", self.pin, data_part="pin")
                widgets.button("Copy command", lambda: self.copy("command"))
                widgets.button("Copy YAML", lambda: self.copy("YAML"))
                widgets.button("Copy link", lambda: self.copy("link"))
                widgets.button("Save PNG", lambda: self.save(".png"))
                widgets.button("Save SVG", lambda: self.save(".svg"))
                theme = put("button", "Dark", type="button", aria_pressed="false", class_="theme")
                theme.on("click", js_handler="() => lab.theme()")
        put("p", class_="said", role="status", aria_live="polite", data_part="said")
        with put("div", class_="lab"):
            self.form = Form(self.choice, self.changed)
            put("main", data_part="desk")
        put("p", class_="unseen", role="status", aria_live="polite", data_part="live")

    def changed(self, choice: Choice, other: bool) -> None:
        """Another *choice*; *other*: the form has other sliders now."""
        self.choice = choice
        self.version += 1
        if other:
            self.form.build()
        else:
            self._script("knobs", self.form.state() if choice == self.form.choice else [])
        if not self.busy:
            background_tasks.create(self._follow())

    async def _follow(self) -> None:
        """Run what is chosen until nothing newer is; then why, then the band."""
        self.busy = True
        try:
            done = -1
            while done != self.version:
                done, choice = self.version, self.choice
                self.now = await self.bench.run(runs.run_choice, choice)
                self.accounts = self.band = None
                self.without = ""
                self.show()
                if done == self.version and self.now.splits:
                    self.accounts = await self.bench.run(runs.explain_choice, choice)
                    if done == self.version:
                        self.show()
        finally:
            self.busy = False
        await self._follow_with_band(self.version)

    async def _follow_with_band(self, version: int) -> None:
        """The band, once nothing has changed for a while and nobody else needs the bench."""
        with suppress(TimeoutError):  # a tab that was closed at once
            await self.client.connected(timeout=30.0)
        while self.now.splits and self.band is None and not self.without:
            await asyncio.sleep(REST)
            if self._left(version):
                return
            with suppress(runs.Overtaken):
                found = await self.bench.when_idle(
                    runs.band_or_why, self.choice, lambda: self._left(version)
                )
                if not self._left(version):
                    self.band, self.without = found
                    self.show()

    def _left(self, version: int) -> bool:
        """Whether nobody looks at that *version* any more."""
        return version != self.version or not self.client.has_socket_connection

    def show(self) -> None:
        """Draw what is known of this run and of the pinned one."""
        pinned, accounts = self.pinned or (None, None)
        data = desk.data_of(self.now, pinned, self.band, self.accounts, accounts)
        self._script("show", {**data, "without": self.without, "query": self.choice.query()})

    def pin(self) -> None:
        """Keep what is shown to compare with; a second time: let it go."""
        if self.pinned is not None:
            self.pinned = None
        elif self.now.result is not None:
            self.pinned = self.now, self.accounts
        self.pin_button.text = "Unpin" if self.pinned else "Pin this run"
        self.show()

    def copy(self, what: str) -> None:
        machine = self.now.result.node if self.now.result else ""
        texts: dict[str, Callable[[], str]] = {
            "command": self.choice.command,
            "link": lambda: self.link(self.choice),
            "YAML": lambda: self.choice.yaml(machine),
        }
        self._script("copy", [what, texts[what]()])

    async def save(self, kind: runs.Suffix) -> None:
        """The picture of this run, as a file of the browser."""
        if self.now.result is None:
            self._script("say", "there is no run to draw")
            return
        drawn = await self.bench.run(runs.picture, self.now.result, kind)
        with self.client:
            ui.download.content(drawn, f"{self.now.result.workload}{kind}")

    def _script(self, name: str, data: Any) -> None:
        with self.client:
            ui.run_javascript(f"lab.{name}({json.dumps(data, separators=(',', ':'))})")
