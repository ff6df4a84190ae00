"""Shared by demonstrations and scenarios: recorded arrivals, verdicts and the folders of runs."""
