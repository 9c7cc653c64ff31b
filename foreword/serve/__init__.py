"""Serve: models behind HTTP, for programs that speak OpenAI's protocol and for people with a browser."""
