"""Commands that end in a verdict: demo, diagnose, certify, scenario, learn."""
