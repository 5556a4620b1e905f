"""Tools of every lesson: guesses, pictures, measurements, an exercise that checks its answer.

lesson = Lesson(3)
lesson.guess(guess, actual, "ms")          says how far off a guess was
lesson.show(axes, "what it shows")         a picture: in the notebook, else a file lesson-03-1.png
lesson.measured("h200_c3", "NAME", ...)    records of that suite, beside what the model says
lesson.check(answer)                       right, or a hint; None asks the question
lesson.lab("Move the size.")               where it goes on in the laboratory
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from exercises import EXERCISES
from records import iteration, rows

from c3sim.lab.choice import LESSONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES, DOTS = (7.2, 3.2), 110
COLUMNS = 78  # of a line of text, as wide as a page of the docs


class Lesson:
    """Lesson *number* of a course; *shown* are its pictures so far, each with what it shows;
    *told* are its measurements as text.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.shown: list[tuple[Figure, str]] = []
        self.told: list[str] = []  # what was measured
        self.tries = 0

    def guess(self, guess: float | None, actual: float, unit: str = "") -> None:
        """Prints *actual* beside the *guess* of the learner, who has made none if it is None."""
        found = f"{actual:.3g} {unit}".strip()
        if guess is None:
            print(f"The model says {found}. Guess first next time: it is how one learns.")
        else:
            off = 100 * (guess / actual - 1)
            print(f"You guessed {guess:g}, the model says {found}: {off:+.0f} %.")

    def axes(self, columns: int = 1, height: float = INCHES[1]) -> Any:
        """Empty axes in the common look; for more than one column, a row of them."""
        from matplotlib.figure import Figure

        from c3sim.kit import look

        with look.style():
            figure = Figure(figsize=(INCHES[0], height), layout="constrained")
            made = figure.subplots(1, columns)
            for axes in figure.axes:
                axes.set_prop_cycle(color=look.PALETTE)
                axes.spines[["top", "right"]].set_visible(False)
        return made

    def show(self, picture: Axes | Figure, words: str) -> None:
        """*picture* in a notebook or, run as a program, as a file in the current folder."""
        from c3sim.kit.progress import in_notebook
        from c3sim.output.notebook import image

        figure: Any = picture.figure
        self.shown.append((figure, words))
        if in_notebook():
            from IPython.display import HTML, display

            display(HTML(f"{image(figure, words)}<p><em>{words}</em></p>"))
            return
        file = Path(f"lesson-{self.number:02}-{len(self.shown)}.png")
        figure.savefig(file, dpi=DOTS, facecolor="white")
        print(f"[{file}] {words}")

    def measured(self, suite: str, *names: str, node: str = "") -> None:
        """Prints the records of *suite* that are called *names*: measured, and as the model has it.

        Raises ValueError for a name without a record. Times are medians over repeats.
        """
        found = rows(suite, names, node)
        lines, run = [], ""
        for row in found:
            if row.run != run:
                use = "only predicted" if row.role == "validation" else "a fit may use it"
                lines += [f"{row.run} ({use})", f"{'':14}measured   model"]
            run = row.run
            what = f"{row.task} alone" if row.alone else row.task
            lines.append(f"  {what:16} {row.measured:5.3g} {row.model:7.3g} {row.unit}")
        lines.append(fill(f"Suite {suite}, {found[0].node}; source: {found[0].source}", COLUMNS))
        self._tell(lines)

    def measured_steps(self, *names: str) -> None:
        """Prints steps of models that were measured on two H200, beside what was predicted."""
        lines = []
        for name in names:
            times = iteration(name)
            saved = [sum(each[:2]) - each[2] for each in zip(*times.values(), strict=True)]
            lines += [name, f"{'':16}measured predicted"]
            for mode, (measured, predicted) in {**times, "saved": saved}.items():
                lines.append(f"  {mode:14}{measured * 1e3:8.1f} {predicted * 1e3:9.1f} ms")
        self._tell(lines)

    def _tell(self, lines: list[str]) -> None:
        self.told.append("\n".join(lines))
        print(self.told[-1])

    def lab(self, words: str) -> None:
        """Prints the command that opens the lesson's place in the laboratory, and what to do."""
        command = list(LESSONS.values())[self.number - 1].command("lab")
        print(f"In the laboratory: {command}\n{fill(words, COLUMNS)}")

    def check(self, answer: float | None) -> None:
        """Prints whether *answer* is right, what a typical mistake was, one hint more
        with every other wrong try, or the question.
        """
        exercise = EXERCISES[self.number]
        if answer is None:
            print(fill(f"Exercise: {exercise.question}", COLUMNS))
            print("Write the answer into the cell, and run it.")
        elif not isinstance(answer, int | float):
            print(f"The answer is a number, in {exercise.unit}.")
        elif exercise.accepts(answer):
            print(fill(f"Right: {exercise.right():.3g} {exercise.unit}. {exercise.why}", COLUMNS))
        elif reply := exercise.mistake(answer):
            print(fill(f"Not yet: {reply}", COLUMNS))
        else:
            print(f"Not yet. Hint: {exercise.hints[min(self.tries, len(exercise.hints) - 1)]}")
            self.tries += 1
