"""The screens in a web browser."""
