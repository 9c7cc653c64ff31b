"""The tests, and what they share (`tiny.py`)."""
