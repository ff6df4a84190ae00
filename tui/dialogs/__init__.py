"""Small screens over others: questions, forms, comparisons."""
