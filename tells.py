
import base64, json, time

def handler(event, context):
    for record in event["Records"]:
        data = base64.b64decode(record["kinesis"]["data"]) if "kinesis" in record else record["body"]
        print(json.dumps({"processed": json.loads(data)["messageHeader"]["messageId"]}))
