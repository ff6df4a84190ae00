"""AWS Lambda without containers: functions in processes of their own, and mappings that feed them."""
