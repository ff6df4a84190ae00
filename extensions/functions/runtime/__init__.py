"""Where functions run: processes that speak the Lambda Runtime API, and their logs."""
