#!/usr/bin/env bash
# Installs what is missing to build and test lockstep: tools/install_deps.sh GROUP...   (groups: build, tests, models, checks, bench, arm)
# Each line of the table is: group, Debian package, and the command that succeeds when the thing is already there, however it
# came. So nothing happens on a machine that has everything, and other distributions only need the same things by other names.
set -euo pipefail
cd "$(dirname "$0")/.."

probes() {
  cat <<'TABLE'
build    g++                  command -v g++
build    cmake                command -v cmake
build    ninja-build          command -v ninja
build    pkg-config           command -v pkg-config
build    binutils             command -v nm
build    python3              command -v python3
build    libpcre2-dev         pkg-config --exists libpcre2-8
build    nlohmann-json3-dev   pkg-config --exists nlohmann_json
build    libcli11-dev         pkg-config --exists CLI11
build    libxxhash-dev        pkg-config --exists libxxhash
build    libedit-dev          pkg-config --exists libedit
build    libfmt-dev           pkg-config --exists fmt
build    libgtest-dev         pkg-config --exists gtest
build    cargo-web            has_new_cargo
tests    tmux                 command -v tmux
models   python3              command -v python3
models   python3-pip          python3 -m pip --version
checks   clang                command -v clang++
checks   libclang-rt-dev      has_sanitizer_runtime
checks   clang-format         command -v clang-format
checks   clang-tidy           command -v run-clang-tidy
checks   ccache               command -v ccache
bench    libbenchmark-dev     pkg-config --exists benchmark
arm      g++-aarch64-linux-gnu  command -v aarch64-linux-gnu-g++
arm      qemu-user            command -v qemu-aarch64
TABLE
}

# clang prints the bare file name again when it has no such file.
has_sanitizer_runtime() {
  local name=libclang_rt.asan-$(uname -m).a
  [[ -e $(clang++ -print-file-name="$name") ]]
}

# rust/chat_template needs 1.85 (rust-version in its Cargo.toml).
has_new_cargo() {
  local version
  version=$(PATH=$PATH:$HOME/.cargo/bin cargo --version | cut -d ' ' -f 2)
  [[ $(printf '%s\n' 1.85 "$version" | sort -V | head -n 1) == 1.85 ]]
}

# The packages of the groups given whose probe fails, one a line.
missing_packages() {
  local group package probe
  while read -r group package probe; do
    [[ " $* " == *" $group "* ]] || continue
    eval "$probe" >/dev/null 2>&1 || echo "$package"
  done < <(probes)
}

as_root() {
  local sudo=()
  [[ $(id -u) -eq 0 ]] || sudo=(sudo)
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@"
}

# Mirrors hiccup: a few tries, each after a longer pause.
retry() {
  local pause
  for pause in 2 10 30 0; do
    "$@" >>build/deps.log 2>&1 && return 0
    [[ $pause -gt 0 ]] && sleep "$pause"
  done
  return 1
}

mapfile -t missing < <(missing_packages "$@" | sort -u)
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "deps: missing and not installable here without apt-get; install by this system's means: ${missing[*]} (Debian names)" >&2
  exit 1
fi
if [[ $(id -u) -ne 0 ]] && ! sudo true; then
  echo "deps: root or sudo is needed to install: ${missing[*]}" >&2
  exit 1
fi
mkdir -p build
echo "deps: installing ${missing[*]} (log: build/deps.log)" >&2
if ! { retry as_root apt-get update -q && retry as_root apt-get install -y -q --no-install-recommends "${missing[@]}"; }; then
  tail -n 20 build/deps.log >&2
  echo "deps: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi

mapfile -t still < <(missing_packages "$@" | sort -u)
if [[ ${#still[@]} -gt 0 ]]; then
  echo "deps: installed but still not found: ${still[*]}" >&2
  exit 1
fi
