"""Files that are compiled as one (weft_compile_together in cmake/weft.cmake), and the names that are local to each."""

import re
from pathlib import Path

import source

TOGETHER = re.compile(r"^\s*weft_compile_together\(([^)]*)\)", re.MULTILINE)
NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{\s*(\})?\s*$")
ALIAS = re.compile(r"using (\w+) = (.*);|using (?!namespace|enum)([\w:]+::(\w+));")
TYPE = re.compile(r"(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] )?(\w+)")
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?=\[|\{| =)")
FUNCTION = re.compile(r"[^(=]*?[\w>&*\]] ?[&*]*(?<!::)\b(\w+)\(")
NO_NAME = ("static_assert", "template", "TEST", "TYPED_TEST", "INSTANTIATE_")


def local_names(text):
    """(line, name, meaning) of what stands in an anonymous namespace; only an alias has a meaning."""
    scopes, depth = [], 0  # the open namespaces, None for an anonymous one; and open braces, theirs included
    for number, line in enumerate(source.strip_comments(text).split("\n"), 1):
        at_top = depth == len(scopes)
        if at_top and (opened := NAMESPACE.match(line)):
            scopes.append(opened.group(1))
        elif at_top and None in scopes and re.match(r"[\w\[]", line) and not line.startswith(NO_NAME):
            for name, meaning in names_in(line):
                yield number, "::".join([s for s in scopes if s] + [name]), meaning
        depth += line.count("{") - line.count("}")
        del scopes[max(depth, 0):]


def names_in(line):
    if alias := ALIAS.match(line):
        name, meaning, used, last = alias.groups()
        return [(name or last, meaning or used)]
    if kind := TYPE.match(line):
        return [(kind.group(1), None)] if "{" in line or not line.rstrip().endswith(";") else []
    if constants := CONSTANT.findall(line):
        return [(name, None) for name in constants] if re.match(r"(?:inline )?const", line) else []
    function = FUNCTION.match(line)
    return [(function.group(1), None)] if function else []


def groups(texts):
    """Lists of paths, of {path: text}, that may be compiled as one: the files of a folder that asks for it."""
    folders = {str(Path(p).parent): text for p, text in texts.items() if Path(p).name == "CMakeLists.txt"}
    for folder, text in sorted(folders.items()):
        calls = TOGETHER.findall(text)
        apart = {f"{folder}/{word}" for call in calls for word in call.partition("APART")[2].split()}
        if calls:
            yield [p for p in sorted(texts) if p.endswith(".cc") and home_of(p, folders) == folder and p not in apart]


def home_of(path, folders):
    """The nearest folder above that has a CMakeLists.txt."""
    return next((str(f) for f in Path(path).parents if str(f) in folders), None)


def clashes(texts):
    """(path, line, name, other path) of each name that is local to two files of a group."""
    for paths in groups(texts):
        known = {}
        for path in paths:
            for line, name, meaning in local_names(texts[path]):
                other, other_meaning = known.setdefault(name, (path, meaning))
                if other != path and (meaning is None or meaning != other_meaning):
                    yield path, line, name, other
