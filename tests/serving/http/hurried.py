"""A server with short limits: python -m tests.serving.http.hurried NAME=FOLDER"""

import sys
from pathlib import Path

from jumok.serving.http.access import own_names
from jumok.serving.http.models import Serving, split_name
from jumok.serving.http.processes import serve_processes
from jumok.serving.http.settings import ServeLimits, ServeSettings
from jumok.systems.catalog import open_model

LIMITS = ServeLimits(
    body=20_000,
    body_seconds=0.8,
    idle_seconds=2.0,
    connections=8,
    queue_requests=1,
)

if __name__ == "__main__":
    name, folder = split_name(sys.argv[1])
    settings = ServeSettings(LIMITS, hosts=own_names("127.0.0.1", ()), grace=0.0)
    serving = Serving({name: open_model(Path(folder))}, settings)
    address = "127.0.0.1", 0
    sys.exit(serve_processes(serving, address, 1, lambda url: print(url, file=sys.stderr)))
