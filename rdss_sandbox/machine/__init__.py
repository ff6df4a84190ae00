"""This machine: how the project was installed on it, Docker, and what ends with us."""
