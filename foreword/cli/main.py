"""`foreword`: verbs in the order data flows. Nothing heavy is imported until a verb needs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

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
    cloze,
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
    rank,
    recl,
    reproduce,
    rescore,
    senses,
    serve,
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
    help="Train, evaluate, compare and sample language models from n-grams to GPT-3, BERT, XLNet and T5, on your own text.",
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
    ("tokens", tokens.tokens, "Train a tokenizer and write a store of token ids."),
    ("marks", marks.marks, "Mark words, phrases and entities in a store."),
    ("preview", preview.preview, "Show what a recipe reads and predicts, row by row."),
    ("plan", plan.plan, "Parameters, memory and time of a training, in advance."),
    ("train", train.train, "Train a recipe on text."),
    ("finetune", finetune.finetune, "Fine-tune a model on labelled examples."),
    ("study", study.study, "Compare seeds, settings or models."),
    ("reproduce", reproduce.reproduce, "Repeat a run and compare it bit for bit."),
    ("average", average.average, "Average checkpoints or models."),
    ("advise", advise.advise, "Find the model that serves your text and labels."),
    ("predict", predict.predict, "Label new text with a fine-tuned run."),
    ("test", testing.score_runs, "Score fine-tuned runs on labelled data."),
    ("evaluate", evaluate.evaluate, "Bits per byte of held-out text, and tasks."),
    ("cloze", cloze.cloze, "Guess hidden tokens or entities."),
    ("rank", rank.rank, "Rank candidates by frozen vectors."),
    ("recl", recl.recl, "How far back models still gain."),
    ("senses", senses.senses, "One word in several sentences."),
    ("rescore", rescore.rescore, "Re-rank n-best lists with a language model."),
    ("dialogue", dialogue.dialogue, "Score replies to people's prompts."),
    ("attention", attention.attention, "Draw attention maps."),
    ("probe", probe.probe, "Probe layers, units and data sets."),
    ("generate", generate.generate, "Continue a text."),
    ("chat", chat.chat, "Talk with a model."),
    ("serve", serve.serve, "Serve models over HTTP, with a page for people."),
    ("translate", translate.translate, "Translate a file line by line."),
    ("import", importing.import_, "Convert a folder or file of another program to a run."),
    ("export", export.export, "Convert a run for other programs."),
    ("check", check.check, "Check a recipe."),
    ("show", show.show, "Print a recipe with all it inherits."),
    ("diff", diff.diff, "Show how two recipes differ."),
    ("tree", tree.tree, "Draw the recipes as a family tree."),
    ("list", listing.list_, "List recipes, tasks and parts."),
    ("demo", demo.demo, "Train and compare models on text found here."),
)
for verb, function, short in VERBS:
    app.command(verb, short_help=short)(function)


@app.command("bench", hidden=True, context_settings=harness.PASSED_ON)
def bench(context: typer.Context) -> None:
    """Moved out of the program."""
    raise Fault(
        "benchmarks are not part of the program.", f"In the repository:  make bench ARGS='{' '.join(context.args)}'"
    )


app.add_typer(corpus.app, name="corpus", short_help="Build, clean and document a corpus.")
app.command("harness", short_help="Evaluate with lm-evaluation-harness.", context_settings=harness.PASSED_ON)(
    harness.harness
)


def _end_with(fault: Fault) -> NoReturn:
    """Tell of a fault; of one that ends several processes, once."""
    if not launched():
        print(fault, file=sys.stderr)
        sys.exit(fault.code)
    from foreword.training.processes import tell

    code = tell(fault)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # gloo's threads may still wait for the others: an ordinary end would abort (SIGABRT)


def main() -> None:
    """Run the program: 0 ok, 1 the work failed, 2 the command or its input was wrong, 130 interrupted."""
    if launched():
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # what is wrong is said below, once
    try:
        check_moved(sys.argv[1:])
        app()  # typer itself ends with 2 for a wrong command, 130 for Ctrl-C
    except Fault as fault:
        _end_with(fault)
    except RuntimeError as error:
        if not launched():
            raise
        from foreword.training.processes import gone

        if (lost := gone(error)) is None:
            raise
        _end_with(lost)
    except OSError as error:  # a folder that may not be written, a name that is a file, a full disk
        print(f"{error.filename or 'a file'} could not be used: {error.strerror}.", file=sys.stderr)
        sys.exit(RunFailed.code)
