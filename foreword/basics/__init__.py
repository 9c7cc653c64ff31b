"""What every room needs and no room owns: specs, messages, chance, files, budgets, tables of names."""
