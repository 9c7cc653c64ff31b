"""`foreword serve`: models behind HTTP, for programs that speak OpenAI's protocol, and a page for people."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def serve(
    models: Annotated[
        list[str] | None, typer.Argument(help="Runs or model folders; NAME=RUN gives one another name.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0: for other machines, too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    api_key: Annotated[
        str, typer.Option(envvar="FOREWORD_API_KEY", help="What clients must show. Better given by the environment.")
    ] = "",
    max_waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait for a model; more get a 429.")] = 64,
    max_bytes: Annotated[int, typer.Option(min=1024, help="The largest request.")] = 4 << 20,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that an answer may take.")] = 300.0,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to finish what has begun, when told to stop.")] = 30.0,
    int8: Annotated[
        bool, typer.Option("--int8", help="Networks in int8: a quarter of the memory, and quicker.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Serve what `foreword demo` made, in runs/demo.")] = False,
) -> None:
    """Serve models over HTTP: OpenAI's protocol at /v1, and a page at /. Ctrl-C or SIGTERM ends it when all is answered."""
    from foreword.basics.messages import Fault
    from foreword.basics.packages import needed
    from foreword.basics.progress import say
    from foreword.cli.preparing import models_there

    asked = [*(models or []), *(demo_models() if demo else [])]
    if not asked:
        raise Fault("there is nothing to serve.", "Give runs:  foreword serve runs/gpt2 runs/kneser-ney")
    models_there(*(one if os.path.exists(one) or "=" not in one else one.partition("=")[2] for one in asked))
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        needed(module, "serve", "`foreword serve` needs")
    from foreword.serve.app import Application, Limits, Server
    from foreword.serve.models import Served, open_models

    served = Served(open_models(asked, "int8" if int8 else "float32", say), max_waiting)
    application = Application(served, Limits(api_key, max_bytes, timeout))
    server = Server(application, grace, host=host, port=port)
    server.run()
    if not server.started:
        raise SystemExit(1)


def demo_models() -> list[str]:
    """The runs that `foreword demo` left."""
    from pathlib import Path

    from foreword.basics.messages import Fault

    found = sorted(str(path.parent) for path in Path("runs/demo/runs").glob("*/model") if path.is_dir())
    if not found:
        raise Fault("there is no demo in runs/demo.", "Make it:  foreword demo")
    return found
