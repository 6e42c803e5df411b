#!/usr/bin/env bash
# bench/pictures/run.sh [CHARTGEN]: the default chart and summary of candela beside other
# programs, in turns of one run. Needs Go, Linux, Python 3.11 with venv, npm and Chromium
# (CHROMIUM names it if it is not /usr/bin/chromium). CHARTGEN is that program, built with
# opt-level 3 from its public source; without it that column is missing. Nothing of the
# others is part of candela.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

chartgen=${1:+$(realpath "$1")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -o "$work/candela" ../../cmd/candela
cp package.json lightweight.mjs "$work"
(cd "$work" && npm install --silent --no-audit --no-fund)
python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --requirement requirements.txt
"$work/python/bin/python" compare.py "$work" ${chartgen:+"$chartgen"}
