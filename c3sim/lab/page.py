"""One tab of the laboratory: the form at the left, what came out at the right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui
from nicegui.client import Client

from c3sim.lab import desk, runs, widgets
from c3sim.lab.bench import Bench, Overtaken
from c3sim.lab.choice import Choice, Opened
from c3sim.lab.form import Form
from c3sim.lab.runs import Accounts, Outcome
from c3sim.lab.widgets import put
from c3sim.output.page.page import part
from c3sim.output.page.palette import css

if TYPE_CHECKING:
    from c3sim.experiments.bands import Band

REST = 0.6  # seconds without a change after which what takes long is begun
BLINK = 0.3  # seconds of a run after which the page says that it goes on
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

    def __init__(
        self, choice: Choice, link: Callable[[Choice], str], bench: Bench, opened: Opened
    ) -> None:
        self.choice, self.link, self.bench, self.opened = choice, link, bench, opened
        self.now = Outcome(choice=choice)
        self.accounts: Accounts | None = None
        self.band: Band | None = None
        self.without = ""  # why there is no band
        self.pinned: tuple[Outcome, Accounts | None] | None = None
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
            self.form = Form(self.choice, self.changed, self.open)
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
        """Show a first look of the newest choice, until nothing newer is chosen; then the
        rest of it. What was chosen in between is left out.
        """
        self.busy = True
        try:
            done = -1
            while done != self.version:
                done = self.version
                with suppress(Overtaken):
                    self.now = await self._look(self.choice, done)
                    self.accounts = self.band = None
                    self.without = ""
                    self.show()
        finally:
            self.busy = False
        await self._follow_rest(self.version)

    async def _look(self, choice: Choice, version: int) -> Outcome:
        """All that can be said at once; what takes longer than a blink is said to."""
        running = asyncio.ensure_future(
            self.bench.run(runs.look_at, choice, stale=lambda: self.version != version)
        )
        done, _ = await asyncio.wait({running}, timeout=BLINK)
        if not done:
            self._script("busy", "running")
        found: Outcome = await running
        return found

    async def _follow_rest(self, version: int) -> None:
        """The whole result, if that was a first look, and its causes; those that take long, and
        the band, once nothing has changed for a while.
        """
        with suppress(TimeoutError):  # a tab that was closed at once
            await self.client.connected(timeout=30.0)
        if self.now.look is not None:
            found = await self._when_idle(version, runs.run_choice, rest=0.0)
            if found is None:
                return
            self.now = found
            self.show()
        if self.now.result is not None and self.now.at_once:
            await self._explain(version, rest=0.0)
        if self.accounts is None and self.now.follows(runs.CAUSES_RUNS):
            await self._explain(version, rest=REST)
        if self.band is None and not self.without and self.now.follows(runs.BAND_SAMPLES):
            found = await self._when_idle(version, runs.band_or_why, rest=REST)
            if found is not None:
                self.band, self.without = found
                self.show()

    async def _explain(self, version: int, rest: float) -> None:
        accounts = await self._when_idle(version, runs.explain_choice, rest=rest)
        if accounts is not None:
            self.accounts = accounts
            self.show()

    async def _when_idle(self, version: int, act: Callable[..., Any], *, rest: float) -> Any:
        """*act* of what is chosen, *rest* s from now, when nobody else needs the bench; None if it
        is left for another *version*.
        """

        def told(*counts: Any) -> None:
            if not self._left(version):
                self._script("counts", counts)

        choice = self.choice
        while True:
            await asyncio.sleep(rest)
            if self._left(version):
                return None
            with suppress(Overtaken):
                found = await self.bench.when_idle(act, choice, lambda: self._left(version), told)
                return None if self._left(version) else found
            rest = REST

    def _coming(self) -> list[str]:
        """Remaining views of the run that is shown."""
        left = {
            "all figures and the use of resources": self.now.look is not None,
            "where the time went": self.accounts is None and self.now.follows(runs.CAUSES_RUNS),
            "the band": self.band is None
            and not self.without
            and self.now.follows(runs.BAND_SAMPLES),
        }
        return [what for what, follows in left.items() if follows]

    def _left(self, version: int) -> bool:
        """True if nobody looks at that *version* any more."""
        return version != self.version or not self.client.has_socket_connection

    def show(self) -> None:
        """Draw what is known of this run and of the pinned one."""
        pinned, accounts = self.pinned or (None, None)
        data = desk.data_of(self.now, pinned, self.band, self.accounts, accounts)
        more = {"without": self.without, "coming": self._coming(), "query": self.choice.query()}
        self._script("show", {**data, **more})

    async def open(self, name: str) -> None:
        """A file of the reader's own; a trace becomes a workload first."""
        self._script("busy", f"opening {name}")
        try:
            path = await self.bench.run(self.opened, name, self.choice.node or None)
        except Exception as error:  # whatever may be wrong with a file
            self.now = Outcome(choice=self.choice, problem=str(error) or repr(error))
            self.show()
        else:
            self.form.workload(path)

    def pin(self) -> None:
        """Keep what is shown to compare with; a second time: let it go."""
        if self.pinned is not None:
            self.pinned = None
        elif self.now.result is not None:
            self.pinned = self.now, self.accounts
        else:
            self._script("say", "there is no whole run yet to pin")
            return
        self.pin_button.text = "Unpin" if self.pinned else "Pin this run"
        self.show()

    def copy(self, what: str) -> None:
        machine = self.now.node
        texts: dict[str, Callable[[], str]] = {
            "command": self.choice.command,
            "link": lambda: self.link(self.choice),
            "YAML": lambda: self.choice.yaml(machine),
        }
        self._script("copy", [what, texts[what]()])

    async def save(self, kind: runs.Suffix) -> None:
        """The picture of this run, as a file of the browser."""
        if self.now.result is None:
            self._script("say", "there is no whole run yet to draw")
            return
        drawn = await self.bench.run(runs.picture, self.now.result, kind)
        with self.client:
            ui.download.content(drawn, f"{self.now.result.workload}{kind}")

    def _script(self, name: str, data: Any) -> None:
        with self.client:
            ui.run_javascript(f"lab.{name}({json.dumps(data, separators=(',', ':'))})")
