"""A C++ file as the rules see it: without comments and literals, and cut into functions."""

import re

# Comments, literals and numbers (1'000'000 is no character literal), in the order in which they must be tried.
TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<raw>     (?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)" )
    | (?P<string>  "(?:\\.|[^"\\\n])*" )
    | (?P<number>  (?<![\w.])\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])* )
    | (?P<char>    '(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?P<open>[<"])(?P<name>[^>"\n]+)[>"]', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)

SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum)\b|\bextern\s*"\s*"\s*$')
# What may stand between a function's parameters and its body.
AFTER_PARAMETERS = re.compile(
    r"\s*(?:(?:const|volatile|noexcept|override|final|mutable|try|&&?|->[\w:<>,\s*&]+|requires\b.*)\s*)*\Z", re.DOTALL)
MEMBER_INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*\}\s*\Z", re.DOTALL)
ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")


def blank(text):
    """As many lines, nothing on them."""
    return re.sub(r"[^\n]", " ", text)


def strip_comments(text, literals=True):
    """The text with comments (and literals) blanked; every character keeps its place."""

    def replace(match):
        if match.group("comment"):
            return blank(match.group())
        if match.group("number") or not literals:
            return match.group()
        return '"' + blank(match.group()[1:-1]) + '"'

    return TOKEN.sub(replace, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def includes(text):
    """(line, name, quoted) of each include, those in comments excepted."""
    bare = strip_comments(text, literals=False)
    return [(line_of(bare, m.start("open")), m.group("name"), m.group("open") == '"') for m in INCLUDE.finditer(bare)]


def opens_function(head):
    """Is what precedes a brace the head of a function? A table or an initializer is not."""
    if head.count("(") != head.count(")") or ")" not in head or re.search(r"\bconcept\b", head):
        return False
    if MEMBER_INITIALIZERS.search(head):  # `Card(int n) : slots_{n} {`
        return True
    return AFTER_PARAMETERS.match(head[head.rindex(")") + 1:]) is not None


def functions(text):
    """(first line, last line, head) of each outermost function; reads braces, not the language."""
    code = DIRECTIVE.sub(lambda m: blank(m.group()), strip_comments(text))
    scopes = []  # for each open brace: is it a namespace or a class, where functions stand?
    start = 0  # of the statement at hand
    head = ""
    for brace in re.finditer(r"[{};]|" + ACCESS.pattern, code):
        mark = brace.group()
        if mark == "{":
            if all(scopes):
                head = code[start:brace.start()]
            is_scope = SCOPE.search(without_templates(head)) is not None and not opens_function(head)
            scopes.append(all(scopes) and is_scope)
            if scopes[-1]:
                start = brace.end()
        elif mark == "}":
            was_scope = scopes.pop() if scopes else True
            if not all(scopes):
                continue
            if not was_scope and opens_function(head):
                first = start + len(head) - len(head.lstrip())
                yield line_of(code, first), line_of(code, brace.start()), " ".join(head.split())
            elif code[brace.end():].lstrip()[:1] in {",", "{", ")"}:
                continue  # the statement goes on: a member initializer, an argument
            start = brace.end()
        elif all(scopes):
            start = brace.end()


def without_templates(head):
    """`template <class T>` declares no class."""
    return re.sub(r"\btemplate\s*<[^{}]*?>(?=\s*[\w\[:])", "", head)
