"""The APIs of Lambda and of CloudWatch Logs on the AWS port."""
