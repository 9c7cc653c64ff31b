"""Generate: continue a text, token by token, with any language model."""
