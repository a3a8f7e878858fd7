"""The export check: what the library shows is what the public headers declare, both ways.

Three lists have to be one: the functions that the headers mark with BELAY_API, the names in the
linker's map, and the dynamic symbols of the shared library, each with its version. A public
function without the mark is found too, and so is any other name that the static library defines.
"""

import re
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
MARKED = re.compile(r"^BELAY_API\b[^;{(]*?\b(\w+)\(", re.MULTILINE)
DECLARED = re.compile(
    r"^(?!static\b|BELAY_API\b|typedef\b)[a-z][\w \t*]*\b(\w+)\([^;{]*;", re.MULTILINE
)
NODE = re.compile(r"(\w+)\s*\{\s*global:(.*?)(?:local:.*?)?\}", re.DOTALL)


def marked(headers):
    """The public functions of these headers."""
    return {name for path in headers for name in MARKED.findall(COMMENT.sub("", path.read_text()))}


def mapped(map_file):
    """{name: version node} of a linker map."""
    text = "\n".join(line.split("#")[0] for line in map_file.read_text().splitlines())
    return {name: node for node, names in NODE.findall(text) for name in re.findall(r"\w+", names)}


def exported(library):
    """{name: version or None} of what a shared library defines for others."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = {}
    for line in listed.stdout.splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if kind != "A":  # the version nodes themselves
            found[name] = version.lstrip("@") or None
    return found


def archived(library):
    """The names that a static library defines for others."""
    listed = subprocess.run(
        ["nm", "-g", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True
    )
    return {fields[2] for line in listed.stdout.splitlines() if len(fields := line.split()) == 3}


def check(headers, map_file, shown, kept=None):
    """shown: what the shared library exports; kept: what a static one defines, if there is one."""
    public, versions = marked(headers), mapped(map_file)
    for path in headers:
        for name in DECLARED.findall(COMMENT.sub("", path.read_text())):
            yield f"{path.name}: {name} is declared without BELAY_API"
    for name in sorted(public - versions.keys()):
        yield f"{name} is public, but not in {map_file.name}"
    for name in sorted(versions.keys() - public):
        yield f"{name} is in {map_file.name}, but no public header declares it"
    for name in sorted(public - shown.keys()):
        yield f"{name} is public, but the library does not export it"
    for name in sorted(shown.keys() - public):
        yield f"{name} is exported, but no public header declares it"
    for name in sorted(name for name in shown.keys() & public if shown[name] != versions.get(name)):
        yield f"{name} is exported in version {shown[name]}, the map says {versions.get(name)}"
    for name in sorted(kept ^ public if kept is not None else ()):
        yield f"{name} is public or in the static library, but not both"


def headers_of(root, library):
    """curl.h is of a library of its own; the others are of libbelay."""
    headers = sorted((Path(root) / "include" / "belay").glob("*.h"))
    return [path for path in headers if (path.name == "curl.h") == (library == "belay-curl")]


FOLDERS = {"belay": "libbelay", "belay-curl": "curl"}


def check_library(root, build, library):
    """library: belay or belay-curl."""
    folder = Path("src") / FOLDERS[library]
    shown = exported(build / folder / f"lib{library}.so")
    kept = archived(build / folder / f"lib{library}.a")
    yield from check(headers_of(root, library), root / folder / f"lib{library}.map", shown, kept)


if __name__ == "__main__":
    home = Path(__file__).resolve().parents[2]
    problems = [text for name in FOLDERS for text in check_library(home, Path(sys.argv[1]), name)]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
