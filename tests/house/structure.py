#!/usr/bin/env python3
"""Holds the source tree to the rules of the house: who may include whom, file sizes, purpose lines, no traces of one machine.

Usage: structure.py ROOT checks a tree. structure.py --self-test plants one violation of each rule in a small tree of its own
and fails unless every one is found, and only it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The nearest listed folder rules a file. Each folder may include itself and what is listed; nothing else of this tree.
SPEC, IMAGE = "runtime/spec", "runtime/image"
BELOW_ENGINE = ["runtime/bundle", "runtime/cache", "runtime/driver", IMAGE, SPEC]
ALLOWED = {
    "runtime/spec": [],
    "runtime/image": [SPEC],
    "runtime/bundle": [IMAGE, SPEC],
    "runtime/cache": [IMAGE, SPEC],
    "runtime/driver": [IMAGE, SPEC],
    "runtime/simulator": [SPEC],
    "runtime/engine": BELOW_ENGINE,
    "autotune": ["runtime/engine", *BELOW_ENGINE],
    "dialect": [SPEC],
    "codegen": ["dialect", SPEC],
    "compiler": ["codegen", "dialect", IMAGE, SPEC],
}
# C headers that declare what a library exports to those that open it by name; they may be included by anyone.
INTERFACES = {"runtime/image/CompilerInterface.h", "runtime/simulator/driver/SimulatorApi.h"}
TOP_LEVEL = {
    *("dialect", "compiler", "codegen", "runtime", "autotune", "tests"),
    *("CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "demo", "check"),
}
LLVM_FREE = ("runtime", "autotune")
MAX_LINES = 800
CODE = {".cpp", ".h", ".c", ".def", ".td", ".py", ".sh", ".cmake", ".mlir", ".cu", ".ptx"}
# Spelled with classes and groups so that this file does not match itself.
MACHINE_PATH = re.compile(r"/wor[k]/|/far[m]/|/roo[t]/|/hom[e]/\w|/tm[p]/(bash_jobs|build|w/)|/usr/local/cud[a]|/op[t]/\w")
REGISTRY_HOST = re.compile(r"\b(pyp[i]\.org|pythonhoste[d]\.org|(deb|security|snapshot|ftp)\.debia[n]\.org|apt\.llv[m]\.org|npmj[s]\.(org|com))\b")
UNFINISHED = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
TD_INCLUDE = re.compile(r'^\s*include\s+"([^"]+)"')


def treeFiles(root):
    """Relative paths of the tree's own files: what git tracks or would track, or everything outside a git checkout."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True)
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
    return sorted(name for name in names if (root / name).is_file())


def owner(path):
    """The folder of ALLOWED that a path of this tree belongs to, or None."""
    return next((folder for folder in ALLOWED if path.startswith(folder + "/")), None)


def checkIncludes(name, lines):
    home = owner(name)
    pattern = TD_INCLUDE if name.endswith(".td") else INCLUDE
    for number, line in enumerate(lines, 1):
        found = pattern.match(line)
        if not found:
            continue
        target = found.group(1)
        if name.startswith(LLVM_FREE) and re.match(r"(mlir|llvm)(-c)?/", target):
            yield f"{name}:{number}: {target}: nothing in {' or '.join(LLVM_FREE)} includes MLIR or LLVM"
        if target.startswith(("../", "./")):
            yield f'{name}:{number}: {target}: include from the root of the tree, as in "runtime/spec/Schedule.h"'
        other = owner(target)
        if home and target.startswith("tests/"):
            yield f"{name}:{number}: {target}: {home} may not include tests"
        elif home and other and other != home and other not in ALLOWED[home] and target not in INTERFACES:
            yield f"{name}:{number}: {target}: {home} may include only {', '.join(ALLOWED[home]) or 'itself'}"


def purpose(name, lines):
    """The text of the comment that opens a file, without comment marks; RUN lines of lit tests do not count."""
    lines = [line for line in lines if not line.startswith("#!")]
    while lines and (not lines[0].strip() or re.match(r"\s*(//|#|;)\s*(RUN|REQUIRES|UNSUPPORTED):", lines[0])):
        lines.pop(0)
    if not lines:
        return ""
    opening = lines[0].strip()
    mark = r'(///?|/\*+|;+)' if re.search(r"\.(cpp|h|c|def|td|mlir|cu|ptx)$", name) else r'("""|#+)'
    if not re.match(mark, opening):
        return ""
    return re.sub(mark, "", opening, count=1).strip()


def checkText(name, lines):
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line) and not line.startswith("#!"):
            yield f"{name}:{number}: a path of one machine: {line.strip()[:100]}"
        if REGISTRY_HOST.search(line):
            yield f"{name}:{number}: the host name of a package registry: {line.strip()[:100]}"
        if UNFINISHED.search(line):
            yield f"{name}:{number}: unfinished: {line.strip()[:100]}"


def violations(root):
    """All violations in the tree, one sentence each."""
    found, names = [], treeFiles(root)
    for entry in sorted({name.split("/")[0] for name in names}):
        if entry not in TOP_LEVEL and not entry.startswith("."):
            found.append(f"{entry}: the top level holds only {', '.join(sorted(TOP_LEVEL))} and dot-files")
    for name in names:
        suffix = pathlib.Path(name).suffix
        try:
            lines = (root / name).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found += checkText(name, lines)
        isCode = suffix in CODE or os.path.basename(name) == "CMakeLists.txt"
        if not isCode:
            continue
        found += checkIncludes(name, lines)
        if len(lines) > MAX_LINES:
            found.append(f"{name}: {len(lines)} lines; over {MAX_LINES} it needs splitting")
        # A CMakeLists.txt of a few lines that only name folders explains itself.
        if len(purpose(name, lines).split()) < 3 and not (suffix == ".txt" and len(lines) < 10):
            found.append(f"{name}: does not begin with a comment of one sentence that says what the file is for")
    return found


def selfTest():
    """Plants each violation on its own in a clean tree; returns the names of the plants that were missed or mistaken."""
    good = "// Describes one thing for the sake of this test.\n"
    clean = {
        "runtime/spec/Schedule.h": good,
        "runtime/engine/Engine.cpp": good + '#include "runtime/spec/Schedule.h"\n#include "runtime/engine/Engine.h"\n',
        "compiler/Compiler.cpp": good + '#include "mlir/IR/MLIRContext.h"\n#include "runtime/image/KernelImage.h"\n#include "dialect/Attn.h"\n',
        "tests/lit/a.mlir": "// RUN: tessera-opt %s\n" + good,
        "runtime/driver/Open.cpp": good + '#include "runtime/simulator/driver/SimulatorApi.h"\n',
        "README.md": "Tessera\n",
    }
    plants = {
        "spec includes engine": ("runtime/spec/A.h", good + '#include "runtime/engine/Engine.h"\n'),
        "cache includes bundle": ("runtime/cache/A.h", good + '#include "runtime/bundle/Bundle.h"\n'),
        "simulator includes codegen": ("runtime/simulator/A.cpp", good + '#include "codegen/fragment/Fragment.h"\n'),
        "simulator includes compiler": ("runtime/simulator/A.cpp", good + '# include "compiler/Pipeline.h"\n'),
        "simulator includes dialect": ("runtime/simulator/A.cpp", good + '#include <dialect/Attn.h>\n'),
        "runtime includes LLVM": ("runtime/driver/A.cpp", good + '#include "llvm/ADT/StringRef.h"\n'),
        "autotune includes MLIR": ("autotune/cli/A.cpp", good + '#include <mlir-c/IR.h>\n'),
        "autotune includes compiler": ("autotune/A.cpp", good + '#include "compiler/Compiler.h"\n'),
        "dialect includes compiler": ("dialect/A.td", good + 'include "compiler/Passes.td"\n'),
        "driver includes the simulator": ("runtime/driver/A.cpp", good + '#include "runtime/simulator/Machine.h"\n'),
        "product includes tests": ("compiler/A.cpp", good + '#include "tests/kernels/Reference.h"\n'),
        "relative include": ("runtime/spec/A.h", good + '#include "../spec/Schedule.h"\n'),
        "file too long": ("runtime/spec/A.h", good + "\n" * MAX_LINES),
        "no purpose line": ("runtime/spec/A.h", "#pragma once\n"),
        "no purpose line after RUN": ("tests/lit/b.mlir", "// RUN: tessera-opt %s\nmodule {}\n"),
        "path of a machine": ("runtime/spec/A.h", good + "// see /roo" + "t/notes\n"),
        "registry host": ("README.md", "from py" + "pi.org\n"),
        "unfinished": ("runtime/spec/A.h", good + "// TO" + "DO: the rest\n"),
        "stray folder": ("scripts/a.sh", "# Does a thing for the sake of this test.\n"),
    }
    missed = []
    for title, plant in {"nothing planted": None, **plants}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in [*clean.items(), *([plant] if plant else [])]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = violations(root)
            if len(found) != (1 if plant else 0):
                missed.append(f"{title}: found {found or 'nothing'}")
    return missed


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = selfTest() if arguments[0] == "--self-test" else violations(pathlib.Path(arguments[0]))
    print("\n".join(found) or "no violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
