"""The daemon that Spark forks its Python workers from: ``pyspark.daemon`` with the pipeline imported.

A batch runs in several short-lived workers. Without this, each would import Arrow, the schemas and the
sources.
"""

from pyspark.daemon import manager

if __name__ == "__main__":
    import pandas as pd  # noqa: F401 - imported before the fork, for every worker
    import pyspark.worker  # noqa: F401 - as above

    import sandbox.pipeline.bucket_source
    import sandbox.pipeline.files
    import sandbox.pipeline.kinesis_source
    import sandbox.pipeline.parsing
    import sandbox.pipeline.routing
    import sandbox.pipeline.sequences
    import sandbox.pipeline.storing

    # The first verdict compiles the validators, here before the fork.
    sandbox.pipeline.parsing.verdict(b"{}", 0.0)
    manager()
