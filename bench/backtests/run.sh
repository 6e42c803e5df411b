#!/usr/bin/env bash
# Measures a cross of two averages over 100,000 bars in candela, vectorbt, backtesting.py, PineTS
# and PyneCore, in processor time. Needs Go, npm and Python 3.11 with pip. Nothing of it reaches
# the binary.
#   bench/backtests/run.sh
set -euo pipefail
cd "$(dirname "$0")"
[ -d ../pine/node_modules/pinets ] || (cd ../pine && npm ci --ignore-scripts --no-audit --no-fund --silent)
[ -x .build/python/bin/python ] || python3 -m venv .build/python
.build/python/bin/pip install -q vectorbt==1.2.0 backtesting==0.6.6 pynesys-pynecore==6.11.0

go test ../../internal/research/rules -run '^$' -bench Rules -benchtime 3x
go test ../../internal/analysis/strategy -run '^$' -bench Over/script -benchtime 5x
.build/python/bin/python peers.py .build/bars.csv
.build/python/bin/python ../pine/pynecore_bench.py .build/bars.csv cross.py
(cd ../pine && node pinets.mjs ../backtests/.build/bars.csv ../backtests/cross.pine)
