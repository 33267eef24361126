"""Types of different namespaces that have one name: whoever reads `Port` should know which one without looking up."""

import re
from pathlib import Path

import source

NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{\s*(\})?\s*$")
TYPE = re.compile(r"(?:template <[^{}]*> )?(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] |alignas\([^)]*\) )?"
                  r"(\w+)(?![\w<;])")


def definitions(text):
    """(line, namespace, name) of each type that is defined in a namespace; what is local to a file is left out."""
    scopes, depth = [], 0  # the open namespaces, None for an anonymous one; and open braces, theirs included
    for number, line in enumerate(source.strip_comments(text).split("\n"), 1):
        at_top = depth == len(scopes)
        if at_top and (opened := NAMESPACE.match(line)):
            scopes.append(opened.group(1))
        elif at_top and None not in scopes and (kind := TYPE.match(line)):
            if "{" in line or not line.rstrip().endswith(";"):
                yield number, "::".join(scopes), kind.group(1)
        depth += line.count("{") - line.count("}")
        del scopes[max(depth, 0):]


def clashes(texts):
    """(path, line, name, other place) of each type of src/ whose name a type of another namespace has, too."""
    known = {}
    for path in sorted(texts):
        if not path.startswith("src/") or Path(path).suffix not in {".h", ".cc"} or is_for_tests(path):
            continue
        for line, namespace, name in definitions(texts[path]):
            other, place = known.setdefault(name, (namespace, f"{path}:{line}"))
            if other != namespace:
                yield path, line, name, place


def is_for_tests(path):
    """What tests define beside the code; nobody else sees it."""
    return path.endswith(("_test.cc", "_fuzz.cc")) or Path(path).name.startswith(("test_", "fake_"))
