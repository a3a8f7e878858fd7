"""What the library's manual pages say: the names they document, prototypes, examples."""

import re
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PROTOTYPE = re.compile(
    r"^(?:BELAY_API|static inline)\s+([\w \t*]+?)\s*\b(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*"
    r"(?:BELAY_MUST_USE\s*)?[;{]",
    re.MULTILINE,
)
DISPLAY = re.compile(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^\.Ft (.*)\n\.Fo (\w+)\n((?:\.Fa .*\n)*)\.Fc$", re.MULTILINE)


def plain(text):
    """One spelling for every layout of the same declaration."""
    return re.sub(r"\s*([*(),])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def declared(headers):
    """{name: prototype} of every function that these headers offer, inline ones too."""
    found = {}
    for path in headers:
        for kind, name, arguments in PROTOTYPE.findall(COMMENT.sub("", path.read_text())):
            found[name] = plain(f"{kind} {name}({arguments})")
    return found


class Page(NamedTuple):
    names: list  # of its NAME section
    prototypes: dict  # {name: prototype} of its SYNOPSIS
    includes: list
    displays: list  # of its EXAMPLES, as the reader sees them


def section(text, title):
    match = re.search(rf"^\.Sh {title}\n(.*?)(?=^\.Sh |\Z)", text, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""


def unquoted(words):
    return words.strip().strip('"')


def read(path):
    """A page of mdoc."""
    text = path.read_text()
    prototypes = {}
    for kind, name, lines in FUNCTION.findall(section(text, "SYNOPSIS")):
        arguments = [unquoted(line) for line in re.findall(r"^\.Fa (.*)$", lines, re.MULTILINE)]
        prototypes[name] = plain(f"{unquoted(kind)} {name}({', '.join(arguments)})")
    displays = [
        display.replace("\\&", "").replace("\\e", "\\")
        for display in DISPLAY.findall(section(text, "EXAMPLES"))
    ]
    names = re.findall(r"^\.Nm (\w+)", section(text, "NAME"), re.MULTILINE)
    includes = re.findall(r"^\.In belay/(\S+)", section(text, "SYNOPSIS"), re.MULTILINE)
    return Page(names, prototypes, includes, displays)


def problems(pages, prototypes):
    """pages: {file name: Page}; prototypes: what the headers declare."""
    homes = {}
    for file, page in pages.items():
        for name, prototype in page.prototypes.items():
            homes.setdefault(name, []).append(file)
            if name not in page.names:
                yield f"{file}: {name} is not in its NAME"
            if name not in prototypes:
                yield f"{file}: {name} is no public function"
            elif prototype != prototypes[name]:
                yield f"{file}: says {prototype}, the header {prototypes[name]}"
        own = file.rsplit(".", 1)[0]
        for name in page.names:
            if name not in page.prototypes and name != own:
                yield f"{file}: {name} is in its NAME, but not in its SYNOPSIS"
        if own not in page.names:
            yield f"{file}: its own name is not in its NAME"
    for name in sorted(prototypes.keys() - homes.keys()):
        yield f"{name} has no manual page"
    for name, files in homes.items():
        if len(files) > 1:
            yield f"{name} has several pages: {', '.join(files)}"
