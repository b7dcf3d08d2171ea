#!/usr/bin/env python3
"""Installs Tessera, or builds and runs an application against an install, as a person would: with CMake, pkg-config and dpkg alone.

  package.py install BUILD PREFIX [--components C...] [--forbid PATH...]
      installs into a folder that is then renamed to PREFIX, and looks for the paths in everything that was installed
  package.py project SOURCE FOLDER [--generator G] [--target T] [--set NAME=VALUE]... [--run COMMAND]... [--fails PATTERN] -- OPTION...
      configures and builds the project in a fresh folder, then runs each command there, in an environment with what is set;
      --fails: configuring must fail, saying so
  package.py pkg-config FOLDER PREFIX SOURCE --compiler C
      builds the file in a fresh folder with what pkg-config says, and runs it
  package.py debian BUILD FOLDER
      makes the Debian packages, unpacks them into one folder and runs the program there
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys


def environment(folder):
    """This process's, without what would lead to another Tessera than the one installed, and with a cache of its own."""
    leads = ("LD_LIBRARY_PATH", "TESSERA_COMPILER_LIBRARY", "TESSERA_SIM_LIBRARY", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")
    kept = {name: value for name, value in os.environ.items() if name not in leads}
    return kept | {"TESSERA_CACHE_DIR": str(folder / "cache")}


def run(command, folder, **more):
    print("$", shlex.join(map(str, command)), flush=True)
    return subprocess.run(command, cwd=folder, env=environment(folder) | more)


def must(command, folder, **more):
    if code := run(command, folder, **more).returncode:
        sys.exit(f"exit status {code}: {shlex.join(map(str, command))}")


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | more).stdout


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def filesWith(paths, root):
    """Those installed files that hold one of the paths, with the path."""
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink():
            content = file.read_bytes()
            yield from (f"{file.relative_to(root)} holds {path}" for path in paths if path.encode() in content)


def install(arguments):
    staging = fresh(arguments.prefix.with_name(arguments.prefix.name + "-staging"))
    command = ["cmake", "--install", arguments.build, "--prefix", staging, "--strip"]
    for component in arguments.components or [None]:
        must(command + (["--component", component] if component else []), staging)
    shutil.rmtree(arguments.prefix, ignore_errors=True)
    staging.rename(arguments.prefix)
    if found := list(filesWith([*arguments.forbid, str(staging)], arguments.prefix)):
        sys.exit("\n".join(found))


def project(arguments):
    folder = fresh(arguments.folder)
    configure = ["cmake", "-S", arguments.source, "-B", folder, "-G", arguments.generator, "-DCMAKE_BUILD_TYPE=Release", *arguments.options]
    if arguments.fails:
        result = subprocess.run(configure, cwd=folder, env=environment(folder), capture_output=True, text=True)
        said = " ".join((result.stdout + result.stderr).split())
        if result.returncode == 0 or not re.search(arguments.fails, said):
            sys.exit(f"configuring should have failed with '{arguments.fails}', but exit status {result.returncode}:\n{said}")
        return
    must(configure, folder)
    must(["cmake", "--build", folder, *(["--target", arguments.target] if arguments.target else [])], folder)
    for command in arguments.run:
        program, *rest = shlex.split(command)
        must([folder / program if (folder / program).exists() else program, *rest], folder, **dict(one.split("=", 1) for one in arguments.set))


def pkgConfig(arguments):
    folder, packages = fresh(arguments.folder), next(arguments.prefix.rglob("tessera.pc")).parent
    flags = output("pkg-config", "--cflags", "--libs", "tessera", PKG_CONFIG_PATH=str(packages)).split()
    must([arguments.compiler, "-std=c++20", arguments.source, *flags, "-o", folder / "app"], folder)
    must([folder / "app"], folder, LD_LIBRARY_PATH=str(packages.parent))


def debian(arguments):
    folder = fresh(arguments.folder)
    must(["cpack", "-G", "DEB", "--config", arguments.build / "CPackConfig.cmake", "-B", folder], folder)
    packages = {file.name.split("_")[0]: file for file in folder.glob("*.deb")}
    fields = {name: dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", file).splitlines() if ": " in line) for name, file in packages.items()}
    if set(packages) != {"tessera-runtime", "tessera-compiler"}:
        sys.exit(f"made {', '.join(packages)}")
    runtime, compiler = fields["tessera-runtime"], fields["tessera-compiler"]
    if f"tessera-runtime (= {runtime['Version']})" not in compiler["Depends"] or "libmlir-22" not in compiler["Depends"]:
        sys.exit(f"tessera-compiler depends on {compiler['Depends']}")
    if re.search("llvm|mlir|cuda|nvidia", runtime["Depends"]) or "libsodium" not in runtime["Depends"]:
        sys.exit(f"tessera-runtime depends on {runtime['Depends']}")
    for file in packages.values():
        must(["dpkg-deb", "-x", file, folder / "root"], folder)
    problem = "--head-dim 64 --seqlen-q 70 --seqlen-kv 70 --causal bottom-right"
    must([folder / "root/usr/bin/tessera", "run", "--device", "sim:a100", *problem.split(), "--check"], folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    installer = commands.add_parser("install")
    installer.add_argument("build", type=pathlib.Path)
    installer.add_argument("prefix", type=pathlib.Path)
    installer.add_argument("--components", nargs="+", default=[])
    installer.add_argument("--forbid", nargs="+", default=[])
    installer.set_defaults(command=install)
    builder = commands.add_parser("project")
    builder.add_argument("source", type=pathlib.Path)
    builder.add_argument("folder", type=pathlib.Path)
    builder.add_argument("--generator", default="Ninja")
    builder.add_argument("--target")
    builder.add_argument("--set", action="append", default=[])
    builder.add_argument("--run", action="append", default=[])
    builder.add_argument("--fails")
    builder.set_defaults(command=project)
    plain = commands.add_parser("pkg-config")
    plain.add_argument("folder", type=pathlib.Path)
    plain.add_argument("prefix", type=pathlib.Path)
    plain.add_argument("source", type=pathlib.Path)
    plain.add_argument("--compiler", required=True)
    plain.set_defaults(command=pkgConfig)
    packer = commands.add_parser("debian")
    packer.add_argument("build", type=pathlib.Path)
    packer.add_argument("folder", type=pathlib.Path)
    packer.set_defaults(command=debian)
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:split], argparse.Namespace(options=words[split + 1 :]))
    arguments.command(arguments)


if __name__ == "__main__":
    main()
