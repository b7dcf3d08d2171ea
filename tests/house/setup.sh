# What ./demo and ./check share: find or install what Tessera builds with, then configure the build folder. Sourced, not run.
#
# Nothing is fetched while CMake configures: Debian packages come from the archives this machine is set up with, and the CUDA
# parts from an installed toolkit or, where there is none, from the vendor's wheels, into the build folder.

script=$(basename "$0")
build=${TESSERA_BUILD:-build}
jobs=$(nproc)
log=$build/setup.log
began=$SECONDS

# Let ccache know a file again in another clone, and behind a precompiled header.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# What the build, the tests and the checks need. FileCheck and not come with llvm-22-tools.
packages=(
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools libclang-rt-22-dev clang-format-22 clang-tidy-22
  cmake ninja-build ccache git pkg-config
  libfmt-dev nlohmann-json3-dev libzstd-dev zlib1g-dev libsodium-dev libcli11-dev libgtest-dev libgmock-dev
  python3 python3-numpy python3-venv
  dpkg-dev file libllvm15
)
wheels=('nvidia-nvjitlink==13.0.*' 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*' 'nvidia-cuda-crt==13.0.*')
# The parts of CUDA 13 that Tessera uses: types of the driver API, the assembler, and NVRTC as a second opinion in tests.
cudaParts=(include/cuda.h include/nvJitLink.h include/nvrtc.h libnvJitLink.so.13 libnvrtc.so.13)

say() { printf '==> %d:%02d  %s\n' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) "$*"; }
die() { printf '%s: %s\n' "$script" "$1" >&2; shift; [ $# -eq 0 ] || printf '  %s\n' "$@" >&2; exit 1; }

# Prints the packages of the list that are not installed, one a line.
missingPackages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

installPackages() {
  command -v dpkg-query >/dev/null || die "this is not Debian, so $script cannot install what it needs." \
    "Install MLIR, LLVM and clang 22, lld, CMake, Ninja, fmt, nlohmann-json, zstd, libsodium, CLI11, GoogleTest and numpy, then:" \
    "cmake --preset dev && cmake --build build && ctest --test-dir build"
  local missing install=(apt-get install -y --no-install-recommends)
  mapfile -t missing < <(missingPackages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    die "${#missing[@]} Debian packages are missing and only root can install them. Run this, then ./$script again:" \
      "sudo sh -c 'apt-get update && ${install[*]} ${missing[*]}'"
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]} (log: $log)"
  export DEBIAN_FRONTEND=noninteractive
  local options=(-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
  apt-get "${options[@]}" update >>"$log" 2>&1 </dev/null || die "apt-get update failed; the last lines of $log:" "$(tail -n 5 "$log")"
  "${install[0]}" "${options[@]}" "${install[@]:1}" "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    die "apt-get install failed; the last lines of $log:" "$(tail -n 8 "$log")" \
      "LLVM 22 is in Debian 12's security archive (bookworm-security): see that /etc/apt names it."
}

# True if the folder holds every part of CUDA 13 that Tessera uses.
hasCudaParts() {
  local part
  [ -n "$1" ] || return 1
  for part in "${cudaParts[@]}"; do
    [ -e "$1/$part" ] || [ -e "$1/lib/$part" ] || [ -e "$1/lib64/$part" ] || return 1
  done
}

# Prints the folder of the CUDA 13 toolkit that CMake finds, or nothing.
toolkitFolder() {
  local probe=$build/cuda-probe
  mkdir -p "$probe"
  cat >"$probe/CMakeLists.txt" <<'PROBE'
cmake_minimum_required(VERSION 3.25)
project(Probe NONE)
set(THREADS_FOUND TRUE)
find_package(CUDAToolkit 13 QUIET)
file(WRITE ${CMAKE_BINARY_DIR}/folder "${CUDAToolkit_TARGET_DIR}")
PROBE
  rm -rf "$probe/out"
  cmake -S "$probe" -B "$probe/out" >/dev/null 2>&1 && cat "$probe/out/folder"
}

# Sets cudaPath to the folder with the CUDA parts. TESSERA_CUDA=wheels acts as if no toolkit were installed.
findCuda() {
  cudaPath=
  case ${TESSERA_CUDA:-} in
  "") cudaPath=$(toolkitFolder || true) ;;
  wheels) ;;
  *) die "TESSERA_CUDA=$TESSERA_CUDA is not known; 'wheels' is the only value, and unset means: a toolkit if there is one." ;;
  esac
  if hasCudaParts "$cudaPath"; then return; fi
  cudaPath=$(realpath "$build")/cuda/nvidia/cu13
  if hasCudaParts "$cudaPath"; then return; fi
  local why="no CUDA 13 toolkit found"
  [ -z "${TESSERA_CUDA:-}" ] || why="TESSERA_CUDA=$TESSERA_CUDA"
  say "Fetching CUDA 13's headers, NVRTC and nvJitLink as wheels (320 MB unpacked) into $build/cuda: $why"
  rm -rf "$build/cuda" "$build/cuda-venv"
  { /usr/bin/python3 -m venv "$build/cuda-venv" &&
    "$build/cuda-venv/bin/pip" install --disable-pip-version-check --no-input --no-deps --target "$build/cuda" "${wheels[@]}"; } \
    >>"$log" 2>&1 </dev/null || die "the CUDA wheels could not be installed; the last lines of $log:" "$(tail -n 5 "$log")"
  hasCudaParts "$cudaPath" || die "the CUDA wheels lack one of: ${cudaParts[*]} (in $cudaPath)."
}

# Configures the build folder unless it is already configured this way.
configure() {
  local options=(--preset ci -B "$build" -DPython3_EXECUTABLE=/usr/bin/python3 "-DTESSERA_CUDA_PATH=$cudaPath")
  local stamp=$build/configured-as
  if [ -f "$build/build.ninja" ] && [ "$(cat "$stamp" 2>/dev/null)" = "${options[*]}" ]; then return; fi
  say "Configuring $build (CUDA parts: $cudaPath)"
  cmake "${options[@]}" >"$build/configure.log" 2>&1 </dev/null || { cat "$build/configure.log" >&2; die "configuring failed."; }
  grep -h '^-- Tessera' "$build/configure.log" || true
  printf '%s' "${options[*]}" >"$stamp"
}

# Sets folder to the folder of a preset inside the build folder, and configures it unless it is. For checks that build with flags of
# their own.
configureOwn() {
  mkdir -p "$build" || die "cannot create the build folder $build."
  installPackages
  findCuda
  folder=$(realpath "$build")/$1
  mkdir -p "$folder"
  if [ -f "$folder/build.ninja" ]; then return; fi
  cmake --preset "$1" -B "$folder" "-DTESSERA_CUDA_PATH=$cudaPath" >"$folder/configure.log" 2>&1 </dev/null || { cat "$folder/configure.log" >&2; die "configuring failed."; }
}

# Everything before the build. Leaves cudaPath set.
setUp() {
  mkdir -p "$build" || die "cannot create the build folder $build."
  installPackages
  findCuda
  configure
}

# Builds the given targets (none: everything), with progress.
buildTargets() {
  say "Building with $jobs jobs"
  NINJA_STATUS='[%f/%t %es] ' cmake --build "$build" -j "$jobs" ${1:+--target "$@"} </dev/null
}
