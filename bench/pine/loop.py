"""
@pyne
"""
from pynecore.lib import script, close, ta, plot
from pynecore import Series


@script.indicator("loop")
def main():
    price: Series[float] = close
    fast = ta.ema(close, 12)
    slow = ta.ema(close, 26)
    line, signal, hist = ta.macd(close, 12, 26, 9)
    up = ta.crossover(fast, slow)
    plot(fast, "fast")
    plot(slow, "slow")
    plot(line, "line")
    plot(signal, "signal")
    plot(hist, "hist")
    plot(1 if up else 0, "up")
    acc = 0.0
    for i in range(20):
        acc += price[i] * (20 - i)
    plot(acc, "acc")
