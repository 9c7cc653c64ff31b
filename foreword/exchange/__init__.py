"""Exchange: a model as a Hugging Face folder, and back. One table of weight names for each family."""
