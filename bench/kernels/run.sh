#!/usr/bin/env bash
# Measures the kernels of lib/ta/calc beside copy, go-talib, TA-Lib and Tulip in
# one process and prints ns per bar. Needs Go, gcc and npm.
#   bench/kernels/run.sh [-passes 40] [-bars 1000000]
set -euo pipefail
cd "$(dirname "$0")"

# Only the C sources inside the packages are wanted, not their node add-ons.
[ -d node_modules/tulind ] || npm ci --ignore-scripts --no-audit --no-fund --silent
mkdir -p .build

ta=node_modules/talib/src/lib
# The library reads its settings from a header that its own build would write.
: > .build/ta_config.h
for level in 2 3; do
  [ -f .build/libta$level.so ] || gcc -O$level -shared -fPIC -w -DHAVE_CONFIG_H -I.build -I$ta/include \
    -I$ta/src/ta_common -I$ta/src/ta_func -o .build/libta$level.so \
    $ta/src/ta_func/ta_{SMA,EMA,MA,RSI,MACD,MACDEXT,MACDFIX,BBANDS,STDDEV,VAR,ATR,TRANGE,STOCH,ADX,CMO}.c \
    $ta/src/ta_func/ta_{WMA,DEMA,TEMA,TRIMA,KAMA,MAMA,T3}.c $ta/src/ta_func/ta_utility.c \
    $ta/src/ta_common/ta_global.c -lm
  [ -f .build/libti$level.so ] || gcc -O$level -shared -fPIC -w \
    -o .build/libti$level.so node_modules/tulind/external/tiamalgamation.c -lm
done
CGO_ENABLED=1 go run . "$@"
