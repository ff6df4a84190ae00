"""The AWS port: Kinesis from our own engine and every other service from moto, behind the fault engine."""
