"""Writes 100,000 made bars and prints the processor time of libraries for a cross of two averages on them.

python peers.py BARS.csv
"""
import sys
import time
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
BARS = 100_000


def made():
    """Bars of a random walk."""
    random = np.random.default_rng(1)
    closes = np.round(30_000 * np.exp(np.cumsum(0.004 * random.standard_normal(BARS) - 0.000008)), 2)
    opens = np.concatenate([[30_000], closes[:-1]])
    highs = np.round(np.maximum(opens, closes) * (1 + 0.001 * random.exponential(size=BARS)), 2)
    lows = np.round(np.minimum(opens, closes) * (1 - 0.001 * random.exponential(size=BARS)), 2)
    return pd.DataFrame({"time": 1_600_000_000 + 3600 * np.arange(BARS), "Open": opens, "High": highs, "Low": lows, "Close": closes, "Volume": 1.0})


def report(name, runs, work, times=3):
    """Prints the best processor time of some repetitions."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{name} {best:.4f} s, {runs * BARS / best:,.0f} bars/s", flush=True)


bars = made()
bars.to_csv(sys.argv[1], index=False, header=["time", "open", "high", "low", "close", "volume"])
bars.index = pd.to_datetime(bars.time, unit="s")

from backtesting import Backtest, Strategy  # noqa: E402


def average(values, span):
    """An exponential average."""
    return pd.Series(values).ewm(span=span, adjust=False).mean().to_numpy()


class Cross(Strategy):
    """Long while the shorter average is above the longer one."""

    def init(self):
        self.fast, self.slow = self.I(average, self.data.Close, 12), self.I(average, self.data.Close, 26)

    def next(self):
        above = self.fast[-1] > self.slow[-1]
        if above and not self.position:
            self.buy()
        elif not above and self.position:
            self.position.close()


test = Backtest(bars, Cross, cash=10_000_000, commission=0.001)
report("backtesting.py", 1, test.run, 2)

import vectorbt  # noqa: E402


def vector(pairs):
    """Runs pairs of lengths as columns; an order fills at the next open."""
    fast = vectorbt.MA.run(bars.Close, [p[0] for p in pairs], ewm=True, short_name="fast").ma
    slow = vectorbt.MA.run(bars.Close, [p[1] for p in pairs], ewm=True, short_name="slow").ma
    above = (fast.to_numpy() > slow.to_numpy()).reshape(BARS, -1)
    before = np.vstack([np.zeros((1, above.shape[1]), bool), above[:-1]])
    late = lambda x: np.vstack([np.zeros((1, x.shape[1]), bool), x[:-1]])  # noqa: E731
    folio = vectorbt.Portfolio.from_signals(bars.Close, late(above & ~before), late(~above & before), price=bars.Open, fees=0.001, init_cash=10_000_000, freq="1h")
    return folio.total_return()


vector([(12, 26)])  # compiles
report("vectorbt", 1, lambda: vector([(12, 26)]))
report("vectorbt, 20 pairs as columns", 20, lambda: vector([(5 + i, 40 + i) for i in range(20)]), 1)
