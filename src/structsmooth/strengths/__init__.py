"""From Bayes errors to smoothing strengths."""
