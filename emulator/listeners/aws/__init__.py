"""The AWS port: Kinesis by our own engine, every other service by moto, with the faults in front."""
