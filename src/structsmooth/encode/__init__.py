"""Tables with text, categories, dates and gaps, as features for all that follows."""
