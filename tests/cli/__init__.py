"""The program as a user meets it: words in, what it said and its exit code out."""
