#!/usr/bin/env bash
# Raw HTTP with curl against a server that runs (`npm start`); TOOLYARD_URL says where.
set -euo pipefail
url=${TOOLYARD_URL:-http://localhost:18890}
post() { curl -sS --fail-with-body "$url$1" -d "$2"; echo; }

# A temporary session: made for the call, gone after it.
post /execute '{"worker_id":"w1","action":"code:run","params":{"language":"javascript","code":"[1,2,3].map(x => x*x)"}}'

# A session of the worker's own: state lasts.
post /api/v1/session/create '{"worker_id":"w1","resource_type":"code"}'
post /execute '{"worker_id":"w1","action":"code:run","params":{"language":"javascript","code":"var n = 41"}}'
post /execute '{"worker_id":"w1","action":"code.run","params":{"language":"javascript","code":"n + 1"},"timeout":30}'
post /api/v1/session/destroy '{"worker_id":"w1","resource_type":"code"}'

# Several calls in one request, results in order.
post /execute/batch '{"worker_id":"w1","parallel":true,"actions":[
  {"action":"code:run","params":{"language":"javascript","code":"1+1"}},
  {"action":"code:run","params":{"language":"javascript","code":"2+2"}}]}'
