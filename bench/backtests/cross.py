"""
@pyne
"""
from pynecore.lib import script, strategy, ta, close


@script.strategy("cross", initial_capital=10000000, commission_type=strategy.commission.percent, commission_value=0.1)
def main():
    f = ta.ema(close, 12)
    s = ta.ema(close, 26)
    up = ta.crossover(f, s)
    down = ta.crossunder(f, s)
    if up:
        strategy.entry("L", strategy.long)
    if down:
        strategy.close("L")
