#!/usr/bin/env python3
"""Runs the examples of README.md and compares what they print with what the README shows.

Usage: readme.py SOURCE_FOLDER BUILD_FOLDER

A block that follows `<!-- run -->` holds lines "$ command" (a backslash continues them) and, below each, lines of its output.
Commands run in order, in one empty folder where `build` is the build folder, with a disk cache of their own; each must exit 0, or as `<!-- run, exit 3 -->`
says. The lines shown must occur in the output in their order; a line of dots stands for any lines, dots within a line for any
text, and every number for any number, but in a schedule (v1:q128,...). A block that follows `<!-- file: PATH -->` must be the text of that file.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- (run(?:, exit (?P<exit>\d+))?|file: (?P<file>\S+)) -->\n+```\w*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = r"[-+]?(?:0x[0-9a-fA-F]+|\d[\d.,]*(?:e[-+]?\d+)?)"


def commands(text):
    """Pairs of a command and the output lines shown for it."""
    pairs, lines = [], iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            pairs.append((command, []))
        elif line.strip() and not re.fullmatch(r"\s*\.\.\.\s*", line):
            if not pairs:
                raise ValueError(f"output without a command: {line}")
            pairs[-1][1].append(line)
    return pairs


def withoutNumbers(text):
    return re.sub(rf"v1:q\S*|{NUMBER}", lambda found: found[0] if found[0].startswith("v1:") else "#", text)


def matches(shown, line):
    """True if the line is the shown one, up to numbers, spacing and dots."""
    parts = [withoutNumbers(part) for part in re.split(r"\.\.\.", " ".join(shown.split()))]
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, withoutNumbers(" ".join(line.split()))) is not None


def firstUnmatched(shown, output):
    """The first shown line that does not occur in the output after those before it, or None."""
    lines = iter(output.splitlines())
    return next((line for line in shown if not any(matches(line, candidate) for candidate in lines)), None)


def runBlock(block, folder, environment):
    expected = int(block["exit"] or 0)
    for command, shown in commands(block["text"]):
        print(f"$ {command}", flush=True)
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != expected:
            yield f"exit {done.returncode}, not {expected}: {command}\n{done.stdout}"
        missing = firstUnmatched(shown, done.stdout)
        if missing is not None:
            yield f"not printed: {missing}\n  by: {command}\n  which printed:\n{done.stdout}"


def main(source, build):
    text, found = (source / "README.md").read_text(), []
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != len(re.findall(r"^<!--", text, re.MULTILINE)):
        found.append("a mark is not followed by a block, or is misspelt")
    if not any(block["file"] is None for block in blocks):
        found.append("no block is marked to be run")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        pathlib.Path(folder, "build").symlink_to(build)
        environment = {**os.environ, "TESSERA_CACHE_DIR": cache, "TESSERA_CACHE": "rw"}
        for block in blocks:
            if block["file"] is None:
                found += runBlock(block, folder, environment)
            elif not (source / block["file"]).is_file() or (source / block["file"]).read_text() != block["text"]:
                found.append(f"the block is not the text of {block['file']}")
    print("\n".join(found) or f"{len(blocks)} blocks as shown")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
