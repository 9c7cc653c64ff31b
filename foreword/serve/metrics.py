"""What the server counts and times, as Prometheus reads it."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ROWS = (1, 2, 4, 8, 16, 32)


class Metrics:
    """One set for each server, so that two in one process do not share them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept: dict[str, Any] = {"registry": self.registry, "namespace": "foreword"}
        by_model = ["model"]
        self.requests = Counter("requests", "Requests answered, by path and status.", ["path", "status"], **kept)
        self.waiting = Gauge("waiting", "Texts and other work that wait for their model.", by_model, **kept)
        self.running = Gauge("running", "Texts that are being written.", by_model, **kept)
        self.prompt_tokens = Counter("prompt_tokens", "Tokens of prompts that were read.", by_model, **kept)
        self.tokens = Counter("tokens", "Tokens that were written.", by_model, **kept)
        self.first_token = Histogram(
            "first_token_seconds", "From the request to the first token.", by_model, buckets=SECONDS, **kept
        )
        self.token = Histogram(
            "token_seconds", "One step: a token for every running text.", by_model, buckets=SECONDS, **kept
        )
        self.batch = Histogram("batch_rows", "Texts in a step.", by_model, buckets=ROWS, **kept)

    def text(self) -> bytes:
        return generate_latest(self.registry)
