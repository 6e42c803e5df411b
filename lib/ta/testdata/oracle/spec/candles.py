"""Candle patterns. The bars are given in whole ticks, of which TA-Lib's running totals are
exact; in decimals rounding decides where two lengths are equal."""

import numpy as np
import talib

from lib.oracles import Bars, Oracle, Spec

PLAIN = {"doji", "dragonflydoji", "gravestonedoji", "longleggeddoji", "rickshawman", "takuri"}
SETS = ("ordinary", "gap", "spike", "flat", "zerovolume")


def labels(name: str, values: np.ndarray) -> dict[str, list[int]]:
    if name in PLAIN:
        return {name: np.flatnonzero(values)}
    return {
        f"{name}_bull": np.flatnonzero((values > 0) & (values <= 100)),
        f"{name}_bear": np.flatnonzero((values < 0) & (values >= -100)),
        f"{name}_confirmed_bull": np.flatnonzero(values > 100),
        f"{name}_confirmed_bear": np.flatnonzero(values < -100),
    }


def patterns(b: Bars, _: dict) -> dict:
    cents = [np.round(x * 100) for x in (b.open, b.high, b.low, b.close)]
    found = {}
    for function in talib.get_functions():
        if function.startswith("CDL"):
            found |= labels(function[3:].lower(), getattr(talib, function)(*cents))
    return {"signals": {label: bars for label, bars in found.items() if len(bars)}}


SPECS = {"candles": Spec(variants=[{"patterns": "all"}], oracles={"talib": Oracle(patterns)}, sets=SETS)}
