"""Ways to ask a language model, one file each: from an example to requests, from answers to a score."""
