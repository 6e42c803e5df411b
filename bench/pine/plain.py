"""
@pyne
"""
from pynecore.lib import script, close, ta, plot


@script.indicator("plain")
def main():
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
