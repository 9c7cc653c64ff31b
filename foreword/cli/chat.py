"""`foreword chat`: talk with a model in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from foreword.generate.chat import Conversation

HELP = """/why         what the last reply was chosen from, with the scores
/reset       forget what was said
/save FILE   add this conversation to a .jsonl file of dialogues
/help        this
Ctrl-D       leave"""


def chat(
    model: Annotated[str, typer.Argument(help="A run or a model folder.")],
    mmi: Annotated[
        str | None,
        typer.Option(
            "--mmi", help="A backward model: of several replies, the one that recalls most of what was said is given."
        ),
    ] = None,
    candidates: Annotated[int, typer.Option(help="Replies drawn to choose from, with --mmi.")] = 16,
    top_k: Annotated[int, typer.Option(help="Choose each token among the k likeliest; 0: all.")] = 10,
    temperature: Annotated[float, typer.Option(help="Below 1 safer, above 1 wilder; 0 always the likeliest.")] = 1.0,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: what was said becomes less likely.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(help="The longest reply.")] = 40,
    turns: Annotated[int, typer.Option(min=0, help="Turns of the conversation that count; 0: all that fit.")] = 0,
    balance: Annotated[
        float, typer.Option(help="Share of the reply's own likelihood in the choice, with --mmi.")
    ] = 0.0,
    length_bonus: Annotated[
        float, typer.Option(help="Added to the score for each token of a reply, with --mmi.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="The same seed and words give the same replies.")] = 0,
    precision: Annotated[str, typer.Option(help="float32, or int8: a quarter of the memory, and quicker.")] = "float32",
) -> None:
    """Talk with a model, turn by turn. In the conversation: /why, /reset, /save FILE, /help; Ctrl-D leaves."""
    from foreword.cli.preparing import models_there

    models_there(model, mmi)
    from foreword.evaluate.dialogue import reader
    from foreword.generate.chat import ChatModel, Conversation
    from foreword.generate.rerank import ReplyRanking
    from foreword.generate.sample import Sampling

    how = Sampling(
        max_tokens=max_tokens,
        min_tokens=1,
        temperature=temperature,
        top_k=top_k,
        repetition_penalty=repetition_penalty,
        seed=seed,
    )
    backward = reader(mmi, precision, backward=True) if mmi else None
    ranking = ReplyRanking(balance, length_bonus)
    chat_model = ChatModel(reader(model, precision), how, candidates if backward else 1, backward, ranking, turns)
    converse(Conversation(chat_model), sys.stdin.isatty())


def converse(conversation: Conversation, person: bool) -> None:
    """Lines in, replies out, until there are no more. `person`: somebody sits at a terminal, so show who speaks."""
    from foreword.basics.messages import Fault, did_you_mean
    from foreword.basics.progress import say

    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    if person:
        import readline  # noqa: F401  gives `input` a line that can be edited

        say("Say something. /help lists what else there is; Ctrl-D leaves.")
    commands: dict[str, Callable[[str], object]] = {
        "/why": lambda rest: print("\n".join(conversation.why()), flush=True),
        "/reset": lambda rest: _reset(conversation),
        "/save": lambda rest: _save(conversation, rest),
        "/help": lambda rest: print(HELP, flush=True),
    }
    while (line := _line("you> " if person else "")) is not None:
        verb, _, rest = line.partition(" ")
        if not line:
            continue
        try:
            if verb in commands:
                commands[verb](rest.strip())
            elif line.startswith("/"):
                say(f"there is no {verb}.{did_you_mean(verb, commands)} /help lists what there is.")
            else:
                answer = conversation.reply(line)
                if answer.cut:
                    say("that was longer than the model can see: only its end counted.")
                print(f"bot> {answer.text}" if person else answer.text, flush=True)
        except Fault as fault:
            say(str(fault))
    if person:
        say("\nGoodbye.")


def _line(prompt: str) -> str | None:
    """What was typed, or nothing when there is no more (Ctrl-D) or it is enough (Ctrl-C)."""
    try:
        return input(prompt).strip()
    except (EOFError, KeyboardInterrupt):
        return None


def _reset(conversation: Conversation) -> None:
    from foreword.basics.progress import say

    conversation.reset()
    say("forgotten.")


def _save(conversation: Conversation, name: str) -> None:
    import json

    from foreword.basics.progress import say

    if not name or len(conversation.turns) < 2:
        say("say where:  /save FILE.jsonl" if not name else "nothing has been said yet.")
        return
    try:
        with open(Path(name), "a", encoding="utf-8") as file:
            file.write(json.dumps({"turns": conversation.turns}, ensure_ascii=False) + "\n")
    except OSError as error:
        say(f"{name} could not be written: {error.strerror}.")
        return
    say(f"{len(conversation.turns)} turns added to {name}.")
