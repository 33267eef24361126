"""Files that are compiled as one (weft_compile_together in cmake/weft.cmake), and the names that are local to each."""

import posixpath
import re
from pathlib import Path

import source

COMMAND = re.compile(r"^[ \t]*(\w+)\(([^()]*)\)", re.MULTILINE)  # of CMake
# And what the names of their targets begin with.
TARGETS = {"weft_library": "weft_", "weft_program": "", "weft_face": "", "weft_test": ""}
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
    """Lists of paths, of {path: text}, that may be compiled as one: the sources of a target that asks for it, and of
    every test. Targets that other commands make are left to the compiler."""
    for path, text in sorted(texts.items()):
        if Path(path).name == "CMakeLists.txt":
            yield from groups_of(str(Path(path).parent), re.sub(r"#.*", "", text), texts)


def groups_of(folder, text, texts):
    variables = {"PROJECT_SOURCE_DIR": "/", "CMAKE_CURRENT_SOURCE_DIR": "/" + folder}
    sources, together, apart = {}, set(), set()

    def words(arguments):
        known = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m.group(1), m.group()), arguments)
        return known.replace('"', "").split()

    def paths(names):
        return [posixpath.normpath(posixpath.join("/" + folder, name)).lstrip("/") for name in names]

    for command, arguments in COMMAND.findall(text):
        name, *rest = words(arguments) or [""]
        if command == "set":
            variables[name] = " ".join(rest)
        elif command in TARGETS:
            sources[TARGETS[command] + name] = paths(option("SOURCES", rest))
            together |= {name} if command == "weft_test" else set()
        elif command == "weft_compile_together":
            together.add(name)
            apart |= set(paths(option("APART", rest)))
        elif command == "weft_packet_path":
            apart |= set(paths([name] + rest))
    for target in sorted(together & sources.keys()):
        yield [path for path in sources[target] if path in texts and path not in apart]


def option(keyword, words):
    """The words that follow a keyword, up to the next."""
    found = []
    for word in words[words.index(keyword) + 1:] if keyword in words else []:
        if re.fullmatch(r"[A-Z]+", word):
            break
        found.append(word)
    return found


def clashes(texts):
    """(path, line, name, other path) of each name that is local to two files of a group."""
    for paths in groups(texts):
        known = {}
        for path in paths:
            for line, name, meaning in local_names(texts[path]):
                other, other_meaning = known.setdefault(name, (path, meaning))
                if other != path and (meaning is None or meaning != other_meaning):
                    yield path, line, name, other
