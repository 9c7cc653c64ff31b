"""Which model serves a user: candidates race within a budget, judged within the training labels; test is looked at once."""
