"""The program in docs/native.md does what the page says: tried from the build, and against an installed copy.

documented.py run PAGE PROGRAM                  the program, built from the page, prints what the page shows
documented.py install PAGE BUILD FOLDER FLAGS   installed from BUILD below FOLDER, Weft is found and linked as it says
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

LINES = 40
OUTPUT = re.compile(r"success: 1048576 bytes in [0-9]+\.[0-9] us, ([0-9]+) of [0-9]+ packets lost, target is right\n")


def blocks(page, language):
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", Path(page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for name, text in fences if name == language]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_program(page, program):
    code = blocks(page, "cpp")[0]
    lines = code.count("\n")
    if lines >= LINES:
        sys.exit(f"the program has {lines} lines; it is there to be short")
    output = run(program)
    shown = next(block for block in blocks(page, "") if block.startswith("success"))
    for text in (output, shown):
        match = OUTPUT.fullmatch(text)
        if not match or int(match.group(1)) == 0:
            sys.exit(f"neither the program nor the page should say: {text}")
    if run(program) != output:
        sys.exit("the program does not do the same in every run")


def check_install(page, build, folder, flags):
    prefix, project = Path(folder) / "prefix", Path(folder) / "project"
    shutil.rmtree(folder, ignore_errors=True)
    project.mkdir(parents=True)
    run("cmake", "--install", build, "--prefix", prefix)
    (project / "example.cc").write_text(blocks(page, "cpp")[0], encoding="utf-8")
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(example LANGUAGES CXX)\n" + blocks(page, "cmake")[0],
        encoding="utf-8")
    run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={flags}")
    run("cmake", "--build", project / "build")
    check_program(page, project / "build" / "example")
    if not run(prefix / "bin" / "weft", "--version").startswith("weft "):
        sys.exit("the installed command does not know its version")
    if shutil.which("pkg-config"):
        check_pkg_config(page, prefix, project, flags)


def check_pkg_config(page, prefix, project, flags):
    (pc,) = prefix.rglob("weft.pc")
    found = run("pkg-config", "--cflags", "--libs", "weft", env={"PKG_CONFIG_PATH": str(pc.parent)}).split()
    run("c++", "-std=c++20", *flags.split(), project / "example.cc", *found, "-o", project / "by-pkg-config")
    check_program(page, project / "by-pkg-config")


if __name__ == "__main__":
    {"run": check_program, "install": check_install}[sys.argv[1]](*sys.argv[2:])
