"""Statistics of the price."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, column


def price(b: Bars, p: dict) -> np.ndarray:
    return b.source(p.get("source", "close"))


ROUNDED = {"flat": "a rest of rounding where nothing moves"}


def of(line: str, fn, **more) -> Oracle:
    """A function of TA-Lib of one price and a length."""
    return Oracle(lambda b, p: {line: fn(price(b, p), p["length"])}, **more)


def pt(line: str, fn, **more) -> Oracle:
    """A function of pandas-ta of one price and a length."""
    return Oracle(lambda b, p: {line: column(fn(pd.Series(price(b, p)), length=p["length"]))}, **more)


def minmax(b: Bars, p: dict) -> dict:
    low, high = talib.MINMAX(price(b, p), p["length"])
    return {"Highest": high, "Lowest": low}


def returned(b: Bars, p: dict) -> dict:
    fn = pta.log_return if p.get("type") == "log" else pta.percent_return
    return {"Return": 100 * column(fn(pd.Series(price(b, p)), length=p["length"]))}


def single(b: Bars, p: dict) -> dict:
    fn = {"average": talib.AVGPRICE, "median": talib.MEDPRICE, "typical": talib.TYPPRICE, "weighted": talib.WCLPRICE}[p["type"]]
    inputs = {"average": "open high low close", "median": "high low"}.get(p["type"], "high low close")
    return {"Price": fn(*(getattr(b, k) for k in inputs.split()))}


LENGTHS = [{"length": 14}, {"length": 5, "source": "hl2"}]

SPECS = {
    "drawdown": Spec(
        variants=[{}],
        oracles={"pandas_ta": Oracle(lambda b, p: {"Drawdown": -100 * column(pta.drawdown(b.frame().close)["DD_PCT"])})},
    ),
    "returns": Spec(variants=[{"length": 1}, {"length": 5, "type": "log"}, {"length": 1, "type": "log", "source": "hl2"}], oracles={"pandas_ta": Oracle(returned)}),
    "minmax": Spec(variants=[{"length": 20}, {"length": 5, "source": "high"}], oracles={"talib": Oracle(minmax)}),
    "linreg_slope": Spec(variants=LENGTHS, oracles={"talib": of("Slope", talib.LINEARREG_SLOPE, skip=ROUNDED)}),
    "linreg_angle": Spec(variants=LENGTHS, oracles={"talib": of("Angle", talib.LINEARREG_ANGLE, skip=ROUNDED)}),
    "linreg_intercept": Spec(variants=LENGTHS, oracles={"talib": of("Intercept", talib.LINEARREG_INTERCEPT)}),
    "tsf": Spec(variants=LENGTHS, oracles={"talib": of("TSF", talib.TSF)}),
    "midpoint": Spec(variants=LENGTHS, oracles={"talib": of("Midpoint", talib.MIDPOINT)}),
    "midprice": Spec(
        variants=[{"length": 14}, {"length": 5}],
        oracles={"talib": Oracle(lambda b, p: {"Midprice": talib.MIDPRICE(b.high, b.low, p["length"])})},
    ),
    "price": Spec(variants=[{"type": t} for t in ("typical", "average", "median", "weighted")], oracles={"talib": Oracle(single)}),
    "median": Spec(variants=LENGTHS, oracles={"pandas_ta": pt("Median", pta.median)}),
    "mad": Spec(variants=LENGTHS, oracles={"talib": of("MAD", talib.AVGDEV, skip=ROUNDED), "pandas_ta": pt("MAD", pta.mad, skip=ROUNDED)}, whole=400),
    "skew": Spec(variants=[{"length": 30}, {"length": 10, "source": "hl2"}], oracles={"pandas_ta": pt("Skew", pta.skew, skip=ROUNDED)}),
    "kurtosis": Spec(variants=[{"length": 30}, {"length": 10, "source": "hl2"}], oracles={"pandas_ta": pt("Kurtosis", pta.kurtosis, skip=ROUNDED)}),
    "r_squared": Spec(
        variants=LENGTHS,
        oracles={
            "pandas_ta": Oracle(
                lambda b, p: {"RSQ": column(pta.linreg(pd.Series(price(b, p)), length=p["length"], r=True)) ** 2},
                skip={**ROUNDED, "long": "its sums are off by 2e-10"},
            )
        },
    ),
}
