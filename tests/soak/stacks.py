"""Where processes that hang are: by gdb where it is installed, else what the kernel tells of their threads."""

import shutil
import subprocess
from pathlib import Path


def family(pid):
    """A process and its children."""
    found = [pid]
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += family(int(child))
    except OSError:
        pass  # it has ended
    return found


def of_kernel(pid):
    lines = []
    for thread in sorted(Path(f"/proc/{pid}/task").iterdir()):
        for name in ("comm", "wchan", "syscall", "stack"):
            try:
                lines.append(f"{thread.name} {name}: {(thread / name).read_text().strip()}")
            except OSError:
                continue  # it is not ours to read, or has ended
    return "\n".join(lines)


def stacks(pids):
    text = ""
    for pid in [p for root in pids for p in family(root)]:
        text += f"\n--- stacks of {pid}\n"
        if shutil.which("gdb"):
            try:
                told = subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 24"],
                                      capture_output=True, text=True, timeout=60, check=False)
                text += "\n".join(line for line in told.stdout.splitlines() if line.startswith(("#", "Thread", "  ")))
            except subprocess.TimeoutExpired:
                text += "gdb does not answer"
        try:
            text += "\n" + of_kernel(pid)
        except OSError:
            text += "it has ended"
    return text
