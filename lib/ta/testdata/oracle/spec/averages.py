"""Moving averages."""

import talib

from lib.oracles import Oracle, Spec, ti


def src(b, p):
    return b.source(p.get("source", "close"))


def spec(n, label, fn, tulip=None, other=None, skip=None):
    oracles = {"talib": Oracle(lambda b, p: {label: fn(b, src(b, p), p["length"])}, skip=skip or {})}
    if tulip:
        oracles["tulip"] = Oracle(lambda b, p: {label: ti(tulip, [src(b, p)], p["length"])[0]})
    return Spec(variants=[{"length": n}, {"length": other or 21, "source": "hl2"}], oracles=oracles, whole=300)


def plain(name):
    return lambda b, x, n: getattr(talib, name)(x, n)


SPECS = {
    "sma": spec(9, "SMA", plain("SMA"), "sma"),
    "ema": spec(9, "EMA", plain("EMA")),
    "wma": spec(9, "WMA", plain("WMA"), "wma"),
    "rma": spec(7, "RMA", plain("RMA")),
    "hma": spec(9, "HMA", plain("HMA"), "hma", 16),
    "dema": spec(9, "DEMA", plain("DEMA")),
    "tema": spec(9, "TEMA", plain("TEMA")),
    "kama": spec(10, "KAMA", plain("KAMA"), skip={"spike": "its running sum keeps the rounding of the spike"}),
    "zlema": spec(21, "ZLEMA", plain("ZLEMA"), None, 9),
    "t3": spec(5, "T3", lambda b, x, n: talib.T3(x, n, 0.7)),
    "trima": spec(9, "TRIMA", plain("TRIMA"), "trima", 20),
    "linreg": spec(25, "LSMA", plain("LINEARREG"), "linreg"),
    "vwma": spec(20, "VWMA", lambda b, x, n: talib.VWMA(x, b.volume, n), skip={"zerovolume": "it gives a value to a window without volume, TradingView none"}),
}
