"""`foreword`: verbs in the order data flows. Nothing heavy is imported until a verb needs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from foreword.basics.messages import Fault, RunFailed
from foreword.basics.processes import launched
from foreword.basics.version import VERSION
from foreword.cli import (
    advise,
    attention,
    average,
    chat,
    check,
    corpus,
    demo,
    dialogue,
    diff,
    evaluate,
    export,
    finetune,
    generate,
    harness,
    importing,
    listing,
    marks,
    plan,
    predict,
    preview,
    probe,
    reproduce,
    rescore,
    show,
    study,
    testing,
    tokens,
    train,
    translate,
    tree,
)
from foreword.cli.moved import check_moved

app = typer.Typer(
    name="foreword",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Train, evaluate, compare and sample every language model from n-grams to GPT and BERT, on your own text.",
)


def _version(asked: bool) -> None:
    if asked:
        print(f"foreword {VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


VERBS = (
    ("tokens", tokens.tokens, "Text -> a tokenizer and a store of ids."),
    ("marks", marks.marks, "Words, phrases and entities noted in a store."),
    ("preview", preview.preview, "What exactly a network would see and guess."),
    ("plan", plan.plan, "What a training needs, and how long it takes."),
    ("train", train.train, "A recipe and text -> a run."),
    ("finetune", finetune.finetune, "A model and a labelled task -> a run."),
    ("study", study.study, "Several seeds, settings or models, compared."),
    ("reproduce", reproduce.reproduce, "A run again: is it the same, bit for bit?"),
    ("average", average.average, "The mean of saved steps or models -> a run."),
    ("advise", advise.advise, "Which model serves this text and these labels?"),
    ("predict", predict.predict, "Label new text with a fine-tuned run."),
    ("test", testing.score_runs, "Score fine-tuned runs on labelled data."),
    ("evaluate", evaluate.evaluate, "Bits per byte of held-out text; tasks."),
    ("rescore", rescore.rescore, "Choose among hypotheses with a language model."),
    ("dialogue", dialogue.dialogue, "Score replies to people's prompts."),
    ("attention", attention.attention, "Where a model looks, as pictures."),
    ("probe", probe.probe, "Do labelled pairs give their labels away?"),
    ("generate", generate.generate, "Continue a text."),
    ("chat", chat.chat, "Talk with a model."),
    ("translate", translate.translate, "Write a target for every line of a file."),
    ("import", importing.import_, "A Hugging Face directory -> a run."),
    ("export", export.export, "A run -> a folder or file for other programs."),
    ("check", check.check, "Is this recipe right?"),
    ("show", show.show, "A recipe with all it inherits."),
    ("diff", diff.diff, "What one recipe changes about another."),
    ("tree", tree.tree, "The recipes as a family tree."),
    ("list", listing.list_, "The recipes and parts there are."),
    ("demo", demo.demo, "From text to a report, in minutes."),
)
for verb, function, short in VERBS:
    app.command(verb, short_help=short)(function)


@app.command("bench", hidden=True, context_settings=harness.PASSED_ON)
def bench(context: typer.Context) -> None:
    """Moved out of the program."""
    raise Fault(
        "benchmarks are not part of the program.", f"In the repository:  make bench ARGS='{' '.join(context.args)}'"
    )


app.add_typer(corpus.app, name="corpus", short_help="Make and ask about text before it becomes tokens.")
app.command("harness", short_help="Ask a model with lm-evaluation-harness.", context_settings=harness.PASSED_ON)(
    harness.harness
)


def _end_with(fault: Fault) -> int:
    """Tell of a fault; of one that ends several processes, once."""
    if launched():
        from foreword.training.processes import tell

        return tell(fault)
    print(fault, file=sys.stderr)
    return fault.code


def main() -> None:
    """Run the program: 0 ok, 1 the work failed, 2 the command or its input was wrong, 130 interrupted."""
    if launched():
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # what is wrong is said below, once
    try:
        check_moved(sys.argv[1:])
        app()  # typer itself ends with 2 for a wrong command, 130 for Ctrl-C
    except Fault as fault:
        sys.exit(_end_with(fault))
    except RuntimeError as error:
        if not launched():
            raise
        from foreword.training.processes import gone

        if (lost := gone(error)) is None:
            raise
        sys.exit(_end_with(lost))
    except OSError as error:  # a folder that may not be written, a name that is a file, a full disk
        print(f"{error.filename or 'a file'} could not be used: {error.strerror}.", file=sys.stderr)
        sys.exit(RunFailed.code)
