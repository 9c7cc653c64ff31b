"""One server for all tests of the room."""

from __future__ import annotations

import pytest

from tests.unit.serve.served_models import loaded, running

WRITERS = ("gpt2", "lstm", "kneser-ney")


@pytest.fixture(scope="session")
def models(store):
    train, valid = store(), store(split="valid")
    return {name: loaded(name, train, valid) for name in WRITERS}


@pytest.fixture(scope="session")
def server(models):
    with running(models) as found:
        yield found


@pytest.fixture(params=WRITERS)
def name(request):
    return request.param
