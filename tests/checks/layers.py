"""The layer check: ARCHITECTURE.md's tables against the sources and the built archives.

Four kinds of violation are found: an include that the layer table does not allow, a symbol that a
folder may not use (in a pure archive: anything off its list), a declaration by hand that goes round
the table, and a name in the "where is it" table that does not exist. A fifth check finds a second
place that makes decisions.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FORWARD = re.compile(r"^\s*struct (\w+);", re.MULTILINE)
STRUCT = re.compile(r"^struct (\w+)\s*\{", re.MULTILINE)
FUNCTION = re.compile(
    r"^[a-z][\w\s\*]*?\b(\w+)\(([^;{}]*)\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?([;{])",
    re.MULTILINE,
)
SANITIZER = re.compile(
    r"^(__[atu]san_|__ubsan_|__sanitizer_|__gcov|__llvm_|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)"
)
# What only src/call may ask; the rest asks an operation. (`belay explain` shows a class, so it may
# ask for one.)
DECIDERS = {
    "belay_retry_decide",
    "belay_retry_decide_shared",
    "belay_backoff_decide",
    "belay_backoff_decide_hint",
}


class Layer(NamedTuple):
    folder: str
    uses: set  # folders whose headers and symbols it may use
    libraries: set  # system headers beyond the plain ones
    pure: str  # "yes", a list of the pure files, or "no"


def table_after(text, heading):
    """The rows of the first table after a heading, as lists of cells."""
    section = text.split(heading, 1)[1]
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def words(cell):
    return set(re.findall(r"[\w./*-]+", cell)) - {"-"}


class Project:
    """A source tree and the tables that describe it."""

    def __init__(self, root):
        self.root = Path(root)
        text = (self.root / "ARCHITECTURE.md").read_text()
        self.layers = {}
        for folder, uses, libraries, pure in table_after(text, "## Layers"):
            self.layers[folder.strip("`")] = Layer(folder, words(uses), words(libraries), pure)
        self.public = {}
        for owner, headers in table_after(text, "### Public headers"):
            for header in words(headers):
                self.public[header] = owner.strip("`")
        self.allowed_symbols = {}
        for kind, names in table_after(text, "### What a pure archive may call"):
            self.allowed_symbols[kind.strip("`")] = words(names)
        self.places = table_after(text, "## Where is it?")

    def sources(self, folder=None):
        for path in sorted((self.root / "src").rglob("*.[ch]")):
            if folder is None or path.relative_to(self.root / "src").parts[0] == folder:
                yield path

    def folder_of(self, path):
        return Path(path).relative_to(self.root / "src").parts[0]

    def declares(self, header, name):
        """Whether a public header has that function."""
        path = self.root / "include" / "belay" / header
        return re.search(rf"\b{re.escape(name)}\(", COMMENT.sub("", path.read_text())) is not None

    def may_use(self, folder, other):
        layer = self.layers[folder]
        return other == folder or other in layer.uses or "everything" in layer.uses


def check_includes(project):
    """Every include is of the own or an allowed folder, or an allowed public header or library."""
    plain = project.allowed_symbols["plain headers"]
    for path in project.sources():
        folder = project.folder_of(path)
        if folder not in project.layers:
            yield f"{path}: the layer table does not know the folder {folder}"
            continue
        for kind, name in INCLUDE.findall(COMMENT.sub("", path.read_text())):
            problem = include_problem(project, folder, kind, name, plain)
            if problem:
                yield f"{path.relative_to(project.root)}: {problem}"


def include_problem(project, folder, kind, name, plain):
    layer = project.layers[folder]
    if name.startswith("belay/"):
        header = name.removeprefix("belay/")
        owner = project.public.get(header)
        if owner is None:
            return f"<{name}> is missing in the table of public headers"
        reachable = project.may_use(folder, owner) or header in layer.uses
        return None if reachable else f"{folder} may not include <{name}>"
    if kind == '"':
        other = name.split("/")[0]
        if "/" not in name or name.startswith("."):
            return f'"{name}" does not start with its folder'
        reachable = project.may_use(folder, other) or name in layer.uses
        return None if reachable else f'{folder} may not include "{name}"'
    if name in plain or name in layer.libraries or "any" in layer.libraries:
        return None
    return f"{folder} may not include <{name}>"


def definitions(project, pattern):
    """Which folders define a name (in a source or a header)."""
    found = {}
    for path in project.sources():
        for match in pattern(COMMENT.sub("", path.read_text())):
            found.setdefault(match, set()).add(project.folder_of(path))
    for path in sorted((project.root / "include" / "belay").glob("*.h")):
        owner = project.public.get(path.name)
        for match in pattern(COMMENT.sub("", path.read_text())):
            found.setdefault(match, set()).add(owner)
    return found


def functions(text, mark):
    return [name for name, _, end in FUNCTION.findall(text) if end == mark]


def check_forward_declarations(project):
    """No declaration by hand of what belongs to a folder that may not be used."""
    structs = definitions(project, STRUCT.findall)
    bodies = definitions(project, lambda text: functions(text, "{"))
    for path in project.sources():
        folder = project.folder_of(path)
        text = COMMENT.sub("", path.read_text())
        declared = [(name, structs) for name in FORWARD.findall(text)]
        declared += [(name, bodies) for name in functions(text, ";")]
        for name, known in declared:
            homes = known.get(name, set())
            if homes and not any(home and project.may_use(folder, home) for home in homes):
                home = ", ".join(sorted(home for home in homes if home))
                yield f"{path.relative_to(project.root)}: declares {name}, which belongs to {home}"


def read_archive(path):
    """The members of an archive: name -> (defined symbols, undefined symbols)."""
    said = subprocess.run(
        ["nm", "-A", str(path)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    members = {}
    for line in said.splitlines():
        where, _, rest = line.partition(".c.o:")
        member = where.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
        fields = rest.split()
        defined, undefined = members.setdefault(member, (set(), set()))
        kind, symbol = fields[-2], fields[-1]
        if kind in "Uwv":
            undefined.add(symbol)
        elif kind.isupper():
            defined.add(symbol)
    return members


def archives(build):
    """folder -> members, of every archive of the build directory."""
    found = {}
    for path in sorted(Path(build).glob("src/*/libbelay_*.a")):
        found[path.parent.name] = read_archive(path)
    return found


def check_symbols(project, built):
    """A folder calls what it may use; a pure one calls nothing of the system but its list."""
    homes = {}
    for folder, members in built.items():
        for defined, _ in members.values():
            for symbol in defined:
                homes[symbol] = folder
    for folder, members in built.items():
        for member, (_, undefined) in members.items():
            for symbol in sorted(undefined):
                problem = symbol_problem(project, folder, member, symbol, homes)
                if problem:
                    yield f"{folder}/{member}: {problem}"


def symbol_problem(project, folder, member, symbol, homes):
    home = homes.get(symbol)
    if home:
        uses = project.layers[folder].uses
        seams = [use for use in uses if use.startswith(home + "/")]
        public = [use for use in uses if project.public.get(use) == home]
        reachable = (
            seams
            or project.may_use(folder, home)
            or any(project.declares(header, symbol) for header in public)
        )
        return None if reachable else f"uses {symbol} of {home}"
    pure = project.layers[folder].pure
    if pure == "no" or (pure != "yes" and f"{member}.c" not in words(pure)):
        return None
    allowed = project.allowed_symbols["every pure archive"] | project.allowed_symbols.get(
        folder, set()
    )
    if symbol in allowed or SANITIZER.match(symbol):
        return None
    return f"uses {symbol}, which is not on the list of a pure archive"


def check_places(project):
    """Every file and function that the "where is it" table names exists."""
    for question, place in project.places:
        for name in re.findall(r"`([^`]+)`", place):
            if "/" in name:
                if not (project.root / name.rstrip("/")).exists():
                    yield f'"{question}": {name} does not exist'
                file = project.root / name
            elif not defines(file, name.removesuffix("()")):
                yield f'"{question}": {file.name} does not define {name}'


def defines(file, name):
    texts = [file] if file.is_file() else sorted(file.glob("*.c"))
    return any(
        re.search(rf"^[\w\s\*]*\b{re.escape(name)}\b(\(|\[| =)", path.read_text(), re.MULTILINE)
        for path in texts
        if path.exists()
    )


def check_one_engine(project, built):
    """Decisions are made in policy and composed in call: elsewhere they are only read."""
    for path in project.sources():
        folder = project.folder_of(path)
        if folder in ("policy", "call"):
            continue
        for line in COMMENT.sub("", path.read_text()).splitlines():
            for match in re.finditer(r"\bBELAY_DECISION_(?!COUNT\b)\w+", line):
                if not re.search(r"(==|!=|\bcase|\[)\s*$", line[: match.start()]):
                    where = path.relative_to(project.root)
                    yield f"{where}: {match.group()} is used other than to compare"
    for folder, members in built.items():
        if folder in ("policy", "call"):
            continue
        for member, (_, undefined) in members.items():
            for symbol in sorted(undefined & DECIDERS):
                yield f"{folder}/{member}: calls {symbol} instead of an operation"


def check_all(project, build):
    yield from check_includes(project)
    yield from check_forward_declarations(project)
    yield from check_symbols(project, archives(build))
    yield from check_places(project)
    yield from check_one_engine(project, archives(build))


if __name__ == "__main__":
    problems = list(check_all(Project(Path(__file__).resolve().parents[2]), sys.argv[1]))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
