"""Assembly: a recipe becomes objects. The only place where names turn into things."""
