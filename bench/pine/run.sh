#!/usr/bin/env bash
# Measures two Pine scripts in candela, PineTS and PyneCore on the same 4,309 bars, in
# processor time. Needs Go, npm and Python 3.11 with pip. Nothing of it reaches the binary.
#   bench/pine/run.sh [BARS.csv]
set -euo pipefail
cd "$(dirname "$0")"
bars=$(realpath "${1:-../../../shared/data/BTCUSDT_1h.csv}")

[ -d node_modules/pinets ] || npm ci --ignore-scripts --no-audit --no-fund --silent
[ -x .build/python/bin/python ] || python3 -m venv .build/python
.build/python/bin/pip install -q pynesys-pynecore==6.11.0

go test ../../lib/pine -run '^$' -bench Scripts -benchtime 30ms -count 12
node pinets.mjs "$bars" plain.pine loop.pine
.build/python/bin/python pynecore_bench.py "$bars" plain.py loop.py
