#!/usr/bin/env bash
# Unpacks the arm64 builds of our libraries into build/arm-sysroot, for the cross build of `make test-arm`.
# Unpacked, not installed: arm64 and native development packages cannot all be installed side by side, and unpacking needs no root.
set -euo pipefail
cd "$(dirname "$0")/.."

sysroot=$PWD/build/arm-sysroot
packages=(libfmt-dev libfmt9 libgtest-dev libpcre2-dev libpcre2-8-0 libxxhash-dev libxxhash0 nlohmann-json3-dev libcli11-dev libedit-dev libedit2)
stamp="${packages[*]}"
stamp_file=$sysroot/.packages
[[ -f $stamp_file && $(<"$stamp_file") == "$stamp" ]] && exit 0

for tool in apt-get dpkg-deb; do
  if ! command -v "$tool" >/dev/null; then
    echo "arm sysroot: needs $tool (Debian); elsewhere put arm64 builds of fmt, gtest, pcre2, xxhash, nlohmann-json, CLI11 and libedit into $sysroot" >&2
    exit 1
  fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" build
touch "$work/status"
# apt with lists and state of its own, as if this machine were an empty arm64 one.
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Retries=3 -o Acquire::Languages=none
     -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work"
     -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
if ! { "${apt[@]}" update && cd "$work" && "${apt[@]}" download "${packages[@]}"; } >"$work/log" 2>&1; then
  tail -n 20 "$work/log" >&2
  echo "arm sysroot: apt-get could not fetch the arm64 packages ${packages[*]}" >&2
  exit 1
fi
rm -rf "$sysroot"
for package in "$work"/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
echo "$stamp" >"$stamp_file"
