# The KCL as it comes: the MultiLangDaemon with the record processor of amazon_kclpy's sample.
#   kcl_sample.py MODE JAVA JARS PYTHON   becomes the daemon;  kcl_sample.py   is a record processor
import json
import os
import sys
import time


def start_daemon(mode, java, jars, python):
    told = os.dup(1)
    os.set_inheritable(told, True)
    os.dup2(2, 1)  # the daemon's log is not for the kit
    os.environ["TOLD"] = f"/proc/{os.getpid()}/fd/{told}"
    path = f"{os.environ['SANDBOX_STATE_DIR']}/kcl.properties"
    with open(path, "w") as file:
        file.write(f"executableName = {python} {__file__}\nstreamName = {os.environ['SANDBOX_STREAM']}\n")
        file.write("applicationName = PythonKCLSample\nAwsCredentialsProvider = DefaultCredentialsProvider\n")
        file.write(f"initialPositionInStream = TRIM_HORIZON\nregionName = {os.environ['AWS_REGION']}\n")
        file.write(f"retrievalMode = {mode}\n")
    daemon = ["-cp", f"{jars}/*", "software.amazon.kinesis.multilang.MultiLangDaemon"]
    os.execv(java, [java, "-XX:TieredStopAtLevel=1", *daemon, "--properties-file", path])


def run_processor():
    from amazon_kclpy import kcl
    from amazon_kclpy.v3 import processor

    told = os.open(os.environ["TOLD"], os.O_WRONLY)

    class Processor(processor.RecordProcessorBase):
        def initialize(self, _):
            self.checkpointed = time.time()

        def process_records(self, given):
            for record in given.records:
                name = json.loads(record.binary_data)["messageHeader"]["messageId"]
                os.write(told, json.dumps({"processed": name}).encode() + b"\n")
            if time.time() - self.checkpointed > 60:
                given.checkpointer.checkpoint()
                self.checkpointed = time.time()

        def lease_lost(self, _):
            pass

        def shard_ended(self, given):
            given.checkpointer.checkpoint()

        def shutdown_requested(self, given):
            given.checkpointer.checkpoint()

    kcl.KCLProcess(Processor()).run()


if len(sys.argv) > 1:
    start_daemon(*sys.argv[1:])
else:
    run_processor()
