"""Modal screens: questions, forms, comparisons."""
