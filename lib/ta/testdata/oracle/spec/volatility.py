"""Measures of volatility, channels and stops."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, column, ti


def price(b: Bars, p: dict) -> np.ndarray:
    return b.source(p.get("source", "close"))


def bands(b: Bars, p: dict) -> pd.DataFrame:
    return pta.bbands(pd.Series(price(b, p)), length=p["length"], std=p["std_dev"])


def width(values: np.ndarray, p: dict) -> dict:
    s = pd.Series(values)
    return {"BBW": column(s), "Highest": column(s.rolling(p["range"]).max()), "Lowest": column(s.rolling(p["range"]).min())}


def accbands(b: Bars, p: dict) -> dict:
    up, mid, low = talib.ACCBANDS(b.high, b.low, b.close, p["length"])
    return {"ACC Upper": up, "ACC Mid": mid, "ACC Lower": low}


RANGELESS = {"flat": "the library replaces a zero width by the smallest number"}

ROUNDED = {"flat": "a rest of rounding where nothing moves"}
STILL = {"flat": "other values where nothing moves"}

SPECS = {
    "natr": Spec(
        variants=[{"length": 14}, {"length": 5}],
        oracles={
            "tulip": Oracle(lambda b, p: {"NATR": ti("natr", [b.high, b.low, b.close], p["length"])[0]}),
            "talib": Oracle(
                lambda b, p: {"NATR": talib.NATR(b.high, b.low, b.close, p["length"])}, seed="differs", note="leaves the first bar out"
            ),
        },
        whole=400,
    ),
    "adr": Spec(
        variants=[{"length": 14}],
        sets=("daily",),
        oracles={"talib": Oracle(lambda b, p: {"ADR": talib.ADR(b.high, b.low, p["length"])})},
    ),
    "bb_percent": Spec(
        variants=[{"length": 20, "std_dev": 2}, {"length": 10, "std_dev": 1.5, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(lambda b, p: {"%B": column(bands(b, p).iloc[:, 4])}, skip=RANGELESS),
        },
    ),
    "bb_width": Spec(
        variants=[{"length": 20, "std_dev": 2, "range": 125}, {"length": 10, "std_dev": 1.5, "range": 30, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(lambda b, p: width(column(bands(b, p).iloc[:, 3]), p), skip=RANGELESS),
        },
    ),
    "chop": Spec(
        variants=[{"length": 14}, {"length": 5}],
        oracles={
            "pandas_ta": Oracle(
                lambda b, p: {"CHOP": column(pta.chop(b.frame().high, b.frame().low, b.frame().close, length=p["length"]))},
                start=lambda p: p["length"],
                note="leaves the range of the first bar out",
            ),
        },
    ),
    "mass_index": Spec(
        variants=[{"length": 10}, {"length": 25}],
        oracles={
            "talib": Oracle(lambda b, p: {"Mass": talib.MASSI(b.high, b.low, 9, p["length"])}, skip=STILL),
        },
    ),
    "stdev": Spec(
        variants=[{"length": 20}, {"length": 5, "source": "hl2"}],
        oracles={
            "talib": Oracle(lambda b, p: {"StDev": talib.STDDEV(price(b, p), p["length"])}),
            "pandas_ta": Oracle(lambda b, p: {"StDev": column(pta.stdev(pd.Series(price(b, p)), length=p["length"], ddof=0))}, skip=ROUNDED),
        },
        whole=400,
    ),
    "variance": Spec(
        variants=[{"length": 20}, {"length": 5, "source": "hl2"}],
        oracles={
            "talib": Oracle(lambda b, p: {"Var": talib.VAR(price(b, p), p["length"])}),
            "pandas_ta": Oracle(lambda b, p: {"Var": column(pta.variance(pd.Series(price(b, p)), length=p["length"], ddof=0))}, skip=ROUNDED),
        },
        whole=400,
    ),
    "ulcer": Spec(
        variants=[{"length": 14}, {"length": 5, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(lambda b, p: {"Ulcer": column(pta.ui(pd.Series(price(b, p)), length=p["length"]))}),
        },
    ),
    "cvi": Spec(
        variants=[{"length": 10, "roc_length": 10}, {"length": 14, "roc_length": 5}],
        oracles={"talib": Oracle(lambda b, p: {"CVI": talib.CVI(b.high, b.low, p["length"], p["roc_length"])}, skip=STILL)},
    ),
    "accbands": Spec(variants=[{"length": 20}, {"length": 5}], oracles={"talib": Oracle(accbands)}, whole=450),
}
