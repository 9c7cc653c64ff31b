"""One of several choices is right: how a row says what they are, and which."""

from __future__ import annotations

from foreword.tasks.example import UnusableExample
from foreword.tasks.template import Row, Templated, items, render


class ChoiceSettings(Templated):
    """Settings of a task whose rows offer choices."""

    choices: str | tuple[str, ...]  # a field that holds a list, or a template for each
    gold: str  # its place, counted from 0; or one of `labels`
    labels: tuple[str, ...] = ()  # what the right answer is called, for each choice; "A|1" is either

    def offered(self, row: Row) -> list[str]:
        """The choices of one example; of templates, empty ones are not choices."""
        if isinstance(self.choices, str):
            return items(self.choices, row)
        return [text for template in self.choices if (text := render(template, row)).strip()]

    def right(self, row: Row) -> int:
        """The place of the right choice."""
        said, there = render(self.gold, row).strip(), len(self.offered(row))
        if self.labels:
            found = next((place for place, label in enumerate(self.labels) if said in label.split("|")), -1)
        else:
            found = int(said) if said.lstrip("-").isdigit() else -1
        if not 0 <= found < there:
            raise UnusableExample(f"its right answer {said!r} is not among its {there} choices")
        return found
