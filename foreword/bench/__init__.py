"""How fast we are on this machine, beside what the machine can do and what others reach in the same minutes."""
