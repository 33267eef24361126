"""Every rule of tidy.py can fail: each is shown a made-up tree that breaks it, and one beside it that does not."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import source  # noqa: E402
import tidy  # noqa: E402

HEADER = "// What it is for.\n#pragma once\n"


def findings(files):
    """What tidy says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tidy.check(root)


def folder_of(room):
    return "nic/rc" if room == "nic" else room  # the card has rooms inside


def a_file_of(room):
    return f"src/{folder_of(room)}/a.cc"


def rules(path, text):
    return [f.rule for f in findings({path: text})]


class Case(unittest.TestCase):
    def breaks(self, rule, path, text):
        self.assertEqual(rules(path, text), [rule], f"{path}:\n{text}")

    def keeps(self, path, text):
        self.assertEqual(rules(path, text), [], f"{path}:\n{text}")


class Imports(Case):
    def test_every_pair_of_rooms(self):
        for room in tidy.ORDER:
            for target in tidy.ORDER:
                allowed = room == target or tidy.ORDER[target] < tidy.ORDER[room]
                expected = [] if allowed else ["import"]
                text = f'#include "{folder_of(target)}/b.h"\n'
                self.assertEqual(rules(a_file_of(room), text), expected, (room, target))

    def test_the_rule_reads_left_to_right(self):
        self.breaks("import", "src/wire/parse.cc", '#include "nic/card.h"\n')
        self.breaks("import", "src/nic/card.h", HEADER + '#include "host/queue.h"\n')
        self.breaks("import", "src/nic/card.h", HEADER + "#include <host/queue.h>\n")
        self.keeps("src/nic/card.h", HEADER + '#include "wire/parse.h"\n#include "nic/context.h"\n')

    def test_a_test_beside_a_file_obeys_it_too(self):
        self.breaks("import", "src/nic/card_test.cc", '#include "world/sim/world.h"\n')
        self.keeps("tests/sim/card_test.cc", '#include "world/sim/world.h"\n#include "nic/card.h"\n')
        self.keeps("src/cm/a_test.cc", '#include "support/asleep.h"\n')
        self.breaks("import", "src/cm/a.cc", '#include "support/asleep.h"\n')

    def test_worlds_are_strangers(self):
        self.breaks("import", "src/world/sim/a.cc", '#include "world/direct/b.h"\n')
        self.breaks("import", "src/world/direct/a.cc", '#include "world/real/b.h"\n')
        self.breaks("import", "src/world/a.cc", '#include "world/sim/b.h"\n')
        self.keeps("src/world/sim/a.cc", '#include "world/sim/b.h"\n#include "world/c.h"\n')
        self.keeps("src/cli/a.cc", '#include "world/sim/b.h"\n#include "world/direct/c.h"\n')

    def test_times_of_the_real_world_are_its_own(self):
        own = '#include "world/real/os/time.h"\n'
        self.breaks("time", "src/world/real/lane/a.cc", "constexpr Time kA = seconds(1);\n")
        self.breaks("time", "src/world/real/lane/a.cc", own + '#include "base/time.h"\n')
        self.breaks("time", "src/verbs/a.cc", own + "f(weft::microseconds(n));\n")
        self.breaks("time", "src/verbs/a.cc", "f(real::microseconds(n));\n")
        self.keeps("src/verbs/a.cc", own + "f(real::microseconds(n), std::chrono::seconds(1));\n")
        self.keeps("src/world/real/lane/a.cc", own + "constexpr Time kA = seconds(1);\n")
        self.keeps("src/world/sim/a.cc", "constexpr Time kA = seconds(1);\n")

    def test_rooms_of_the_card_point_one_way(self):
        self.breaks("import", "src/nic/congestion/a.h", HEADER + '#include "nic/srnic/b.h"\n')
        self.breaks("import", "src/nic/schedule/a.h", HEADER + '#include "nic/core.h"\n')
        self.breaks("import", "src/nic/roce/a.h", HEADER + '#include "nic/srnic/b.h"\n')
        self.breaks("import", "src/nic/context.h", HEADER + '#include "nic/memory/memory.h"\n')
        self.breaks("import", "src/nic/core.h", HEADER + '#include "nic/card.h"\n')
        self.breaks("import", "src/nic/rc/a.h", HEADER + '#include "nic/attic/b.h"\n')
        self.breaks("import", "src/nic/attic.h", HEADER)
        self.breaks("import", "src/nic/attic/a.h", HEADER)
        self.keeps("src/nic/srnic/a.h", HEADER + '#include "nic/rc/b.h"\n#include "nic/core.h"\n')
        self.keeps("src/nic/card.h", HEADER + '#include "nic/ud/b.h"\n#include "nic/roce/b.h"\n')
        self.keeps("src/nic/caches/a_test.cc", '#include "nic/core.h"\n')

    def test_every_room_of_the_card_is_there(self):
        rule = tidy.NIC_RULE.replace(" <- ", ", ").split(", ")
        self.assertEqual(rule, list(tidy.NIC_ORDER))

    def test_rooms_of_the_real_world_point_one_way(self):
        self.breaks("import", "src/world/real/shm/a.cc", '#include "world/real/port/b.h"\n')
        self.breaks("import", "src/world/real/shm/a.cc", '#include "world/real/udp/b.h"\n')
        self.breaks("import", "src/world/real/a.cc", '#include "world/real/os/b.h"\n')
        self.breaks("import", "src/world/real/os/a.cc", '#include "world/real/attic/b.h"\n')
        self.keeps("src/world/real/lane/a.cc", '#include "world/real/os/b.h"\n#include "world/real/lane/c.h"\n')
        self.keeps("src/world/real/os/a_test.cc", '#include "world/real/lane/b.h"\n')

    def test_the_public_interface_starts_at_native(self):
        for room in ["base", "wire", "nic", "host", "cm"]:
            self.breaks("import", a_file_of(room), '#include "weft/device.h"\n')
            self.breaks("import", a_file_of(room), "#include <weft/device.h>\n")
        for room in ["native", "world/sim", "lab", "verbs", "storage", "cli"]:
            self.keeps(a_file_of(room), '#include "weft/device.h"\n#include <weft/task.h>\n')

    def test_native_knows_no_world(self):
        self.breaks("import", "src/native/a.cc", '#include "world/sim/world.h"\n')
        self.breaks("import", "src/host/a.cc", '#include "native/inside.h"\n')
        self.breaks("import", "src/cm/a.cc", '#include "native/inside.h"\n')
        self.breaks("import", "src/native/a.cc", '#include "cm/state.h"\n')
        self.keeps("src/native/a.cc", '#include "host/device.h"\n#include "nic/formats.h"\n')
        self.keeps("src/world/sim/a.cc", '#include "native/inside.h"\n')

    def test_public_headers_stand_alone(self):
        self.breaks("import", "include/weft/a.h", HEADER + '#include "wire/types.h"\n')
        self.breaks("import", "include/weft/a.h", HEADER + "#include <fmt/format.h>\n")
        self.breaks("import", "include/weft/a.h", HEADER + "#include <tl/optional.hpp>\n")
        self.keeps("include/weft/a.h", HEADER + "#include <tl/expected.hpp>\n")
        self.keeps("include/weft/a.h", HEADER + '#include <span>\n#include "weft/b.h"\n#include <weft/c.h>\n')

    def test_paths_start_at_a_room(self):
        self.breaks("import", "src/nic/rc/a.cc", '#include "context.h"\n')
        self.breaks("import", "src/nic/rc/a.cc", '#include "../host/queue.h"\n')
        self.breaks("import", "src/attic/a.cc", '#include "wire/types.h"\n')
        self.keeps("src/wire/a.cc", "#include <isa-l/crc.h>\n")

    def test_an_include_in_a_comment_is_none(self):
        self.keeps("src/wire/a.cc", '// #include "nic/card.h"\n/*\n#include "cli/main.h"\n*/\n')


class Purity(Case):
    def test_pure_rooms_know_no_system(self):
        for room in ["base", "wire", "nic", "host", "native", "cm"]:
            for name in ["sys/socket.h", "netinet/in.h", "arpa/inet.h", "linux/if.h", "pthread.h", "unistd.h",
                         "fcntl.h", "poll.h", "thread", "mutex", "condition_variable", "chrono", "ctime", "time.h",
                         "random"]:
                self.breaks("pure", a_file_of(room), f"#include <{name}>\n")
        self.breaks("pure", "include/weft/a.h", HEADER + "#include <chrono>\n")
        self.keeps("src/nic/rc/a.cc", "#include <cstdint>\n#include <span>\n")

    def test_their_tests_may(self):
        self.keeps("src/wire/a_test.cc", "#include <thread>\n#include <random>\n")

    def test_the_real_world_may(self):
        self.keeps("src/world/real/os/a.cc",
                   "#include <sys/socket.h>\n#include <chrono>\nauto t = steady_clock::now();\n")

    def test_the_simulated_world_has_its_own_time(self):
        self.breaks("deterministic", "src/world/sim/a.cc", "#include <chrono>\n")
        self.breaks("deterministic", "src/world/direct/a.cc", "#include <random>\n")
        self.keeps("src/world/sim/a.cc", "#include <coroutine>\n#include <fcntl.h>\n")


class Determinism(Case):
    def test_no_clock_and_no_dice(self):
        for room in ["base", "wire", "nic", "host", "native", "cm", "world/sim", "world/direct"]:
            for code in ["auto t = std::chrono::steady_clock::now();", "auto t = system_clock::now();",
                         "std::random_device device;", "int n = rand();"]:
                self.breaks("deterministic", a_file_of(room), code + "\n")
        self.keeps("src/nic/rc/a.cc", "int n = operand(1);  // not rand()\nconst char* s = \"steady_clock\";\n")

    def test_no_unordered_containers(self):
        for room in ["base", "wire", "nic", "host", "native", "cm", "world/sim"]:
            self.breaks("deterministic", a_file_of(room), "std::unordered_map<int, int> m;\n")
        self.keeps("src/cli/a.cc", "std::unordered_map<int, int> m;\n")
        self.keeps("src/nic/rc/a.cc", "std::map<int, int> m;\n")


class Words(Case):
    def test_the_card_goes_to_host_memory_by_one_way(self):
        for code in ["auto& w = const_cast<Work&>(entry);", "auto& s = c.saved[0];", "ring.oldest().count = 0;"]:
            self.breaks("bus", "src/nic/rc/a.h", HEADER + code + "\n")
            self.keeps("src/host/a.h", HEADER + code + "\n")
            self.keeps(tidy.HOST_MEMORY, HEADER + code + "\n")
        self.keeps("src/nic/rc/a.h", HEADER + "const SavedResponse& s = read_saved(core, c, 0);\n")

    def test_the_card_calls_nothing_indirectly(self):
        self.breaks("dispatch", "src/nic/rc/a.h", HEADER + "std::function<void()> f;\n")
        self.breaks("dispatch", "src/nic/srnic/a.h", HEADER + "struct A { virtual void f() = 0; };\n")
        self.keeps("src/nic/rc/a.h", HEADER + "// a virtual address\nstd::uint64_t virtual_address;\n")
        self.keeps("src/cli/a.h", HEADER + "std::function<void()> f;\n")

    def test_casts_only_at_the_wire(self):
        cast = "auto* p = reinterpret_cast<const char*>(q);\n"
        self.breaks("cast", "src/host/a.cc", cast)
        self.breaks("cast", "tests/sim/a.cc", cast)
        self.keeps("src/wire/a.cc", cast)

    def test_headers_are_read_once(self):
        self.breaks("pragma-once", "src/wire/a.h", "int f();\n")
        self.breaks("pragma-once", "src/wire/a.h", "// #pragma once\nint f();\n")
        self.keeps("src/wire/a.h", HEADER + "int f();\n")

    def test_nothing_is_left_unfinished(self):
        for mark in ["TO" + "DO", "FIX" + "ME"]:
            self.breaks("unfinished", "src/wire/a.cc", f"// {mark}: later\n")
            self.breaks("unfinished", "docs/a.md", f"{mark}\n")
        self.keeps("src/wire/a.cc", "// TO" + "DOS is a list\n")

    def test_no_machine_is_special(self):
        for folder in ["root", "work", "home/me"]:
            self.breaks("machine-path", "docs/a.md", f"see /{folder}/x\n")
            self.breaks("machine-path", "scripts/a", f'cd "/{folder}/x"\n')
        self.keeps("docs/a.md", "see src/work/x and /usr/bin/python3\n")

    def test_packages_come_from_where_the_machine_says(self):
        for host in ["deb.debian" + ".org", "pypi" + ".org", "index" + "-url"]:
            self.breaks("package-host", "scripts/a", f"fetch {host}\n")


class Sizes(Case):
    def test_columns_are_characters(self):
        self.breaks("columns", "src/wire/a.cc", "//" + "x" * 119 + "\n")
        self.breaks("columns", "cmake/a.cmake", "#" + "x" * 120 + "\n")
        self.keeps("src/wire/a.cc", "//" + "ü" * 118 + "\n")
        self.breaks("columns", "docs/a.md", "| " + "x" * 120 + " |\n")
        self.breaks("columns", "tests/trust/a.md", "x" * 121 + "\n")
        self.keeps("docs/a.md", "ü" * 120 + "\n")
        self.keeps("experiments/a.toml", "x" * 500 + "\n")

    def test_files_end(self):
        self.breaks("file-length", "src/wire/a.cc", "int x;\n" * 601)
        self.keeps("src/wire/a.cc", "int x;\n" * 600)

    def body(self, lines):
        return "  x = 1;\n" * (lines - 2)

    def test_functions_end(self):
        heads = ["void f() {", "int A::f(int x) const noexcept {", "auto f(int x) -> int {", "TEST(A, b) {",
                 "constexpr bool operator==(A a, A b) {", "template <class T> T f(T x) {", "struct A f(int x) {",
                 "A::A(int x) : a_(x), b_{x} {", "A::A(int x) : a_{x}, b_(x) {", "A::A(int x) : a_{{x}}, b_{1'000} {"]
        for head in heads:
            self.breaks("function-length", "src/wire/a.cc", head + "\n" + self.body(71) + "}\n")
            self.keeps("src/wire/a.cc", head + "\n" + self.body(70) + "}\n")

    def test_functions_inside_classes_and_namespaces(self):
        inside = "namespace a {\nextern \"C\" {\ntemplate <class T>\nclass A : public B {\n public:\n%s};\n}\n}\n"
        long = "  void f() {\n" + self.body(71) + "  }\n"
        short = "  void f() {\n" + self.body(50) + "  }\n"
        self.breaks("function-length", "src/wire/a.cc", inside % long)
        self.breaks("function-length", "src/wire/a.cc", inside % (short + long))
        self.keeps("src/wire/a.cc", inside % (short + " private:\n" + short))

    def test_classes_tables_and_concepts_may_be_long(self):
        self.keeps("src/wire/a.cc", "class A {\n" + "  int x = 1;\n" * 100 + "};\n")
        self.keeps("src/wire/a.cc", "constexpr std::array<A, (3)> k{\n" + "  A{1},\n" * 100 + "};\n")
        self.keeps("src/wire/a.cc", "enum class A : int {\n" + "  a,\n" * 100 + "};\n")
        self.keeps("src/wire/a.cc", "template <class W>\nconcept World = requires(W w) {\n" + "  w;\n" * 100 + "};\n")

    def test_braces_in_literals_and_comments_do_not_count(self):
        code = "void f() {\n  auto s = \"{\";\n  auto c = '{';\n  auto r = R\"({{)\";  // {\n}\n"
        self.keeps("src/wire/a.cc", code * 30)
        self.assertEqual(len(list(source.functions(code * 30))), 30)

    def test_a_finding_names_the_function(self):
        text = "int x;\n\nTEST(Card, Sends) {\n" + self.body(71) + "}\n"
        (found,) = findings({"src/nic/a_test.cc": text})
        self.assertEqual((found.line, found.name), (3, "Card.Sends"))


class Docs(Case):
    TREE = {"src/nic/card.h": HEADER, "tests/trust/a_test.cc": "", "include/weft/work.h": HEADER, "tools/b.py": "",
            "profiles/c.toml": "", "README.md": ""}

    def says(self, text):
        """What tidy says about both documents when they stand in a tree and have this text."""
        both = [findings(self.TREE | {path: text}) for path in sorted(tidy.DOCS)]
        self.assertEqual(*[[(f.line, f.rule) for f in found] for found in both])
        return [(f.line, f.rule) for f in both[0]]

    def test_what_they_name_exists(self):
        for name in ["nic/gone.h", "gone.h", "src/nic/gone.cc", "tests/gone", "nic/gone", "world/real/os", "gone.py",
                     "gone.toml", "docs/gone.md", "lab/", "real/nic/card.h", "NIC/card.h"]:
            self.assertEqual(self.says(f"first\nsee `{name}`\n"), [(2, "docs")], name)
        self.assertEqual(self.says("`nic/card.h`, `nic/gone.h` and `gone.cc`\n"), [(1, "docs")] * 2)

    def test_from_the_root_or_from_src_or_by_its_name(self):
        for name in ["src/nic/card.h", "nic/card.h", "card.h", "src/nic", "nic/", "tests/trust/", "a_test.cc", "work.h",
                     "include/weft/work.h", "tools/b.py", "profiles/c.toml", "README.md"]:
            self.assertEqual(self.says(f"see `{name}`\n"), [], name)

    def test_a_name_alone_is_not_looked_for_everywhere(self):
        self.assertEqual(self.says("`b.py` and `c.toml`\n"), [(1, "docs")] * 2)

    def test_other_words_are_no_paths(self):
        self.assertEqual(self.says("`wire::parse`, `weft sim gone.toml`, `Card`, gone.h and `--wire`\n"), [])

    def test_the_architecture_is_short(self):
        self.breaks("docs", "docs/ARCHITECTURE.md", "x\n" * 300)
        self.keeps("docs/ARCHITECTURE.md", "x\n" * 299)
        self.keeps("docs/glossary.md", "x\n" * 300)

    def test_other_documents_are_free(self):
        self.keeps("docs/a.md", "`nic/gone.h`\n" * 400)


class Together(Case):
    LIBRARY = "weft_library(x SOURCES a.cc deep/b.cc DEPS y)\n"

    def found(self, a, b, cmake=LIBRARY + "weft_compile_together(weft_x)\n"):
        """What tidy says of two files with these lines in their anonymous namespaces."""
        texts = [f"namespace weft {{\nnamespace {{\n\n{code}\n\n}}  // namespace\n}}  // namespace weft\n"
                 for code in (a, b)]
        files = {"src/lab/CMakeLists.txt": cmake, "src/lab/a.cc": texts[0], "src/lab/deep/b.cc": texts[1]}
        return [(f.path, f.line, f.rule) for f in findings(files)]

    def test_no_local_name_is_in_two_files(self):
        for code in ["struct Options {\n  int n = 0;\n};", "class A : public B {\n};", "enum class E { a };",
                     "int run(const A& a) {\n}", "std::vector<int>& all();", "const char* text(\n    A a);",
                     "constexpr int kA = 1;", "constexpr std::array<int, 2> kA{1, 2};", "const char kA[] = {};",
                     "[[nodiscard]] bool is_it(int n) { return true; }", "template <class T>\nT one(T t) {\n}"]:
            line = 5 if code.startswith("template") else 4
            self.assertEqual(self.found(code, code), [("src/lab/deep/b.cc", line, "together")], code)
        self.assertEqual(self.found("constexpr int kA = 1, kB = 2;", "constexpr int kB = 2;"),
                         [("src/lab/deep/b.cc", 4, "together")])

    def test_an_alias_may_mean_the_same_twice(self):
        self.assertEqual(self.found("using A = int;\nusing b::C;", "using A = int;\nusing b::C;"), [])
        self.assertEqual(self.found("using A = int;", "using A = long;"), [("src/lab/deep/b.cc", 4, "together")])
        self.assertEqual(self.found("using b::C;", "struct C {};"), [("src/lab/deep/b.cc", 4, "together")])

    def test_what_is_not_local_or_no_name(self):
        for code in ["}  // namespace\nint f() {\n}\nnamespace {", "struct A;", "static_assert(f(1));",
                     "TEST(A, b) {\n}", "// int f()", "using namespace c;"]:
            self.assertEqual(self.found(code, code), [], code)
        self.assertEqual(self.found("void f() {\n  int g(1);\n}", "void g() {\n}"), [])

    def test_only_where_files_are_compiled_as_one(self):
        for cmake in [self.LIBRARY, self.LIBRARY + "weft_compile_together(weft_x APART c.cc deep/b.cc)\n",
                      self.LIBRARY + "weft_compile_together(weft_x)\nweft_packet_path(deep/b.cc)\n",
                      "weft_program(x SOURCES a.cc)\nweft_program(y SOURCES deep/b.cc)\n"
                      "weft_compile_together(x)\nweft_compile_together(y)\n",
                      "# " + self.LIBRARY + "weft_compile_together(weft_x)\n"]:
            self.assertEqual(self.found("int f();", "int f();", cmake=cmake), [], cmake)

    def test_every_test_is_compiled_together(self):
        for cmake in ["weft_test(x SOURCES a.cc deep/b.cc DEPS y)\n", "weft_test(x\n  SOURCES\n    deep/b.cc a.cc)\n"]:
            self.assertEqual(len(self.found("int f();", "int f();", cmake=cmake)), 1, cmake)

    def test_sources_that_variables_name(self):
        cmake = ('set(deep "${PROJECT_SOURCE_DIR}/src/lab/deep")\n'
                 "weft_test(x SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/a.cc ${deep}/b.cc)\n")
        self.assertEqual(len(self.found("int f();", "int f();", cmake=cmake)), 1)
        elsewhere = cmake.replace("src/lab/deep", "src/cm")
        self.assertEqual(self.found("int f();", "int f();", cmake=elsewhere), [])


class OneName(Case):
    @staticmethod
    def found(a, b, path="src/lab/b.h"):
        header = HEADER + "namespace weft::{} {{\n{}\n}}\n"
        files = {"src/cm/a.h": header.format("cm", a), path: header.format("lab", b)}
        return [(f.path, f.line, f.rule, f.name) for f in findings(files)]

    def test_in_two_namespaces(self):
        for code in ["class Port {};", "struct Port final : Base {", "enum class Port : int { a };", "struct Port"]:
            self.assertEqual(self.found(code, code), [("src/lab/b.h", 4, "one-name", "Port")], code)

    def test_what_is_no_second_definition(self):
        for code in ["class Port;", "template <>\nstruct hash<Port> {};", "struct Host {\n  struct Port {};\n};",
                     "namespace {\nclass Port {};\n}", "// class Port {", "using Port = int;"]:
            self.assertEqual(self.found("class Port {};", code), [], code)

    def test_what_tests_define_is_theirs(self):
        for path in ["src/lab/b_test.cc", "src/lab/test_b.h", "src/lab/fake_b.h"]:
            self.assertEqual(self.found("class Port {};", "class Port {};", path), [], path)

    def test_exceptions_name_the_type(self):
        header = HEADER + "namespace weft::{} {{\nclass A {{}};\nclass B {{}};\n}}\n"
        files = {"src/cm/a.h": header.format("cm"), "src/lab/b.h": header.format("lab"),
                 tidy.ALLOW: "one-name src/lab/b.h:A it stands for the other\n"}
        self.assertEqual([f.name for f in findings(files)], ["B"])


class Exceptions(Case):
    CAST = "auto* p = reinterpret_cast<const char*>(q);\n"

    def test_with_a_reason(self):
        found = findings({"src/host/a.cc": self.CAST, tidy.ALLOW: "cast src/host/a.cc the kernel wants it\n"})
        self.assertEqual(found, [])

    def test_without_a_reason(self):
        found = findings({"src/host/a.cc": self.CAST, tidy.ALLOW: "cast src/host/a.cc\n"})
        self.assertEqual([f.rule for f in found], ["cast", "allow"])

    def test_for_one_function(self):
        body = "() {\n" + "  x = 1;\n" * 70 + "}\n"
        files = {"src/nic/rc/a.cc": "void f" + body + "void g" + body,
                 tidy.ALLOW: "function-length src/nic/rc/a.cc:f one table of transitions\n"}
        self.assertEqual([f.name for f in findings(files)], ["g"])

    def test_that_nobody_needs(self):
        found = findings({"src/host/a.cc": "int x;\n", tidy.ALLOW: "cast src/host/a.cc the kernel wants it\n"})
        self.assertEqual([f.rule for f in found], ["allow"])

    def test_every_finding_says_where(self):
        (found,) = findings({"src/host/a.cc": "int x;\n" + self.CAST})
        self.assertTrue(str(found).startswith("src/host/a.cc:2: cast: "))


if __name__ == "__main__":
    unittest.main()
