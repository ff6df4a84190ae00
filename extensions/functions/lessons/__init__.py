"""A lesson on handlers of AWS Lambda."""
