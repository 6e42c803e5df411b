"""Prints the processor time that PyneCore takes for each script, in us a bar: the best of four runs.

python pynecore_bench.py BARS.csv SCRIPT.py...
"""
import csv
import sys
import time
from pathlib import Path

from pynecore.core.script_runner import ScriptRunner
from pynecore.core.syminfo import SymInfo
from pynecore.types.ohlcv import OHLCV

with open(sys.argv[1], encoding="utf-8") as file:
    rows = [[float(x) for x in row] for row in list(csv.reader(file))[1:]]
data = [OHLCV(timestamp=int(t), open=o, high=h, low=l, close=c, volume=v) for t, o, h, l, c, v in rows]
for name in sys.argv[2:]:
    best = float("inf")
    for _ in range(4):
        info = SymInfo(
            prefix="BINANCE", description="", ticker="BTCUSDT", currency="USDT", period="60", type="crypto", mintick=0.01, pricescale=100,
            minmove=1, pointvalue=1, mincontract=0.00001, opening_hours=[], session_starts=[], session_ends=[], timezone="UTC",
        )
        runner = ScriptRunner(Path(name).resolve(), iter(data), info, last_bar_index=len(data) - 1)
        start = time.process_time()
        for _ in runner.run_iter(copy_results=False):
            pass
        best = min(best, (time.process_time() - start) * 1e6 / len(data))
    print(f"PyneCore {name} {best:.2f} us a bar")
