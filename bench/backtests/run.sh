#!/usr/bin/env bash
# Measures a cross of two averages over 100,000 bars in candela, vectorbt, backtesting.py, PyneCore
# and PineTS in one run, one after the other, each on one core and in processor time. Needs Go, npm
# and Python 3.11 with pip. Nothing of it reaches the binary.
#   bench/backtests/run.sh
set -euo pipefail
cd "$(dirname "$0")"
[ -d ../pine/node_modules/pinets ] || (cd ../pine && npm ci --ignore-scripts --no-audit --no-fund --silent)
[ -x .build/python/bin/python ] || python3 -m venv .build/python
.build/python/bin/python -m pip install -q -r requirements.txt
export GOMAXPROCS=1 NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
go test ../../internal/work/research/rules -run '^$' -bench 'Rules/(stepped|columns)' -benchtime 30x | grep Benchmark
go test ../../internal/work/research/rules -run '^$' -bench 'Rules/sweep-1000' -benchtime 1x | grep Benchmark
go test -c -o .build/strategy.test ../../lib/backtest
TIMEFORMAT='%U s of processor time for 31 runs as a script'
time .build/strategy.test -test.run '^$' -test.bench Over/script -test.benchtime 30x | grep Benchmark
.build/python/bin/python peers.py .build/bars.csv
.build/python/bin/python ../pine/pynecore_bench.py .build/bars.csv cross.py
(cd ../pine && node pinets.mjs ../backtests/.build/bars.csv ../backtests/cross.pine)
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
