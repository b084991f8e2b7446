"""Raw HTTP from Python's standard library, against a server that runs; TOOLYARD_URL says where."""

import json
import os
import urllib.error
import urllib.request

URL = os.environ.get("TOOLYARD_URL", "http://localhost:18890")


def post(path, **body):
    request = urllib.request.Request(URL + path, data=json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        # A failure is an envelope too: its outcome says whose failure it was.
        return json.load(error)


def execute(action, **params):
    envelope = post("/execute", worker_id="python-1", action=action, params=params)
    if envelope["code"] != 0:
        meta = envelope["meta"]
        raise RuntimeError(f"{meta['outcome']}: {envelope['message']} ({meta['suggestion']})")
    return envelope["data"]


post("/api/v1/session/create", worker_id="python-1", resource_type="code")
execute("code:run", language="javascript", code="const words = ['one', 'two', 'three']")
print("lengths:", execute("code:run", language="javascript", code="words.map(w => w.length)")["result"])

try:
    execute("code:rum", code="1")
except RuntimeError as error:
    print("a typed error:", error)

post("/api/v1/worker/disconnect", worker_id="python-1")
