"""Takes log lines over one TCP connection and appends them to a file.

haproxy does not write files by itself.
"""

import socket
import sys

with socket.create_server(("127.0.0.1", 0)) as server, open(sys.argv[1], "ab", buffering=0) as file:
    print(f"listening on 127.0.0.1:{server.getsockname()[1]}", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            while piece := connection.recv(1 << 16):
                file.write(piece)
