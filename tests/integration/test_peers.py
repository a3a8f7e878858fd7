"""Real clients and servers: curl and http.client through belay to nginx and haproxy."""

import hashlib
import http.client
import subprocess

import pytest
from belay import configuration
from origin import answer
from processes import free_port, start_haproxy, start_nginx

LARGE = bytes(range(256)) * 20000  # 5 MB


def curl(*words):
    """What curl prints; it fails the test when curl fails."""
    command = ["curl", "--silent", "--show-error", "--max-time", "20", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def digest_of_upload(request, connection):
    """Answers with what came, so that a byte lost on the way shows."""
    return answer(
        200,
        f"{request.method} {len(request.body)} {hashlib.sha256(request.body).hexdigest()}".encode(),
    )


def expected_digest(body, method="POST"):
    return f"{method} {len(body)} {hashlib.sha256(body).hexdigest()}".encode()


@pytest.fixture
def nginx(closing, tmp_path, start_belay):
    """belay in front of nginx, which serves files and passes /up to an origin."""

    def start(upstream=None):
        port, pages = free_port(), tmp_path / "pages"
        pages.mkdir()
        (pages / "small").write_bytes(b"small page\n")
        (pages / "large").write_bytes(LARGE)
        up = (
            "location /up { proxy_http_version 1.1; "
            f"proxy_pass http://127.0.0.1:{upstream.port}; }}"
            if upstream
            else ""
        )
        closing.append(
            start_nginx(
                tmp_path / "nginx", port, f"root {pages}; client_max_body_size 20m; gzip off; {up}"
            )
        )
        return start_belay(configuration({"t": (port, {"deadline": "15s"})}))

    return start


@pytest.fixture
def haproxy(closing, tmp_path, start_belay):
    """belay in front of haproxy in front of an origin."""

    def start(upstream):
        port = free_port()
        closing.append(
            start_haproxy(tmp_path / "haproxy", port, f"    server s 127.0.0.1:{upstream.port}")
        )
        return start_belay(configuration({"t": (port, {"deadline": "15s"})}))

    return start


def test_curl_to_nginx(nginx):
    belay = nginx()
    url = f"http://127.0.0.1:{belay.port}"
    assert curl(f"{url}/small") == b"small page\n"
    assert curl(f"{url}/large") == LARGE
    assert b"200 OK" in curl("--head", f"{url}/large")
    assert curl("--output", "/dev/null", "--write-out", "%{http_code}", f"{url}/missing") == b"404"
    assert curl("--range", "0-9", f"{url}/large") == LARGE[:10]


def test_curl_keeps_its_connection(nginx):
    belay = nginx()
    url = f"http://127.0.0.1:{belay.port}/small"
    connects = curl(
        "--write-out",
        "%{num_connects}\n",
        *[word for _ in range(3) for word in ("-o", "/dev/null", url)],
    )
    assert connects.split() == [b"1", b"0", b"0"]


def test_curl_conditional_request_to_nginx(nginx):
    belay = nginx()
    url = f"http://127.0.0.1:{belay.port}/small"
    head = curl("--head", url).decode()
    tag = next(line.split(": ")[1] for line in head.splitlines() if line.lower().startswith("etag"))
    code = curl(
        "--header",
        f"If-None-Match: {tag}",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        url,
    )
    assert code == b"304"


@pytest.mark.parametrize("size", [0, 1, 10_000, 5_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_curl_uploads_to_nginx(nginx, start_origin, tmp_path, size, chunked):
    belay = nginx(start_origin(digest_of_upload))
    (tmp_path / "upload").write_bytes(LARGE[:size])
    coding = ["--header", "Transfer-Encoding: chunked"] if chunked else []
    got = curl(
        *coding,
        "--header",
        "Expect:",
        "--data-binary",
        f"@{tmp_path}/upload",
        f"http://127.0.0.1:{belay.port}/up",
    )
    assert got == expected_digest(LARGE[:size])


def test_curl_to_haproxy(haproxy, start_origin):
    origin = start_origin(digest_of_upload)
    belay = haproxy(origin)
    url = f"http://127.0.0.1:{belay.port}/x"
    assert curl(url) == expected_digest(b"", "GET")
    assert curl("--data-binary", "hello", url) == expected_digest(b"hello")
    assert curl("--request", "DELETE", url) == expected_digest(b"", "DELETE")


def test_http_client_to_haproxy(haproxy, start_origin):
    belay = haproxy(start_origin(digest_of_upload))
    client = http.client.HTTPConnection("127.0.0.1", belay.port, timeout=20)
    for size in (0, 5, 100_000, 1_000_000):
        client.request("POST", "/x", LARGE[:size])
        assert client.getresponse().read() == expected_digest(LARGE[:size])
    client.request(
        "POST",
        "/x",
        iter([LARGE[:70_000], b"end"]),
        encode_chunked=True,
        headers={"Transfer-Encoding": "chunked"},
    )
    assert client.getresponse().read() == expected_digest(LARGE[:70_000] + b"end")
    client.close()


def test_http_client_to_nginx(nginx):
    belay = nginx()
    client = http.client.HTTPConnection("127.0.0.1", belay.port, timeout=20)
    for _ in range(3):
        client.request("GET", "/large")
        assert client.getresponse().read() == LARGE
    client.request("HEAD", "/large")
    got = client.getresponse()
    assert got.read() == b"" and got.getheader("Content-Length") == str(len(LARGE))
    client.close()


def test_nginx_in_front_of_belay(start_origin, start_belay, closing, tmp_path):
    belay = start_belay(configuration({"t": (start_origin(digest_of_upload).port, {})}))
    port = free_port()
    closing.append(
        start_nginx(
            tmp_path / "front", port, f"location / {{ proxy_pass http://127.0.0.1:{belay.port}; }}"
        )
    )
    assert curl("--data-binary", "hello", f"http://127.0.0.1:{port}/x") == expected_digest(b"hello")


def test_haproxy_in_front_of_belay(start_origin, start_belay, closing, tmp_path):
    belay = start_belay(configuration({"t": (start_origin(digest_of_upload).port, {})}))
    port = free_port()
    closing.append(start_haproxy(tmp_path / "front", port, f"    server s 127.0.0.1:{belay.port}"))
    assert curl("--data-binary", "hello", f"http://127.0.0.1:{port}/x") == expected_digest(b"hello")
