"""Measures of trend and direction."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, after, column, ti
from spec.momentum import FLAT, UNTIL_SPIKE, of_price, price, tulip_price

SUMS = "sums the first n-1 bars where TradingView averages n"
SHORT = "too few bars after the move"


def movement(b: Bars) -> tuple[np.ndarray, np.ndarray]:
    up = np.concatenate([[np.nan], np.diff(b.high)])
    down = np.concatenate([[np.nan], -np.diff(b.low)])
    plus = np.where((up > down) & (up > 0), up, np.where(np.isnan(up), np.nan, 0.0))
    minus = np.where((down > up) & (down > 0), down, np.where(np.isnan(up), np.nan, 0.0))
    return plus, minus


def rma(x: np.ndarray, n: int) -> np.ndarray:
    return x if n == 1 else after(talib.RMA, x, n)


def dx(b: Bars, p: dict) -> np.ndarray:
    n = p["length"]
    plus, minus = (rma(x, n) for x in movement(b))
    return 100 * np.abs(plus - minus) / (plus + minus)


def adxr(b: Bars, p: dict) -> dict:
    n = p["length"]
    adx = rma(dx(b, p), n)
    return {"ADXR": (adx + np.concatenate([np.full(n - 1, np.nan), adx[: len(adx) - n + 1]])) / 2}


def dm(b: Bars, p: dict) -> dict:
    plus, minus = (p["length"] * rma(x, p["length"]) for x in movement(b))
    return {"+DM": plus, "-DM": minus}


def aroon(b: Bars, p: dict) -> dict:
    down, up = talib.AROON(b.high, b.low, p["length"])
    return {"Aroon Up": up, "Aroon Down": down}


def aroon_tulip(b: Bars, p: dict) -> dict:
    down, up = ti("aroon", [b.high, b.low], p["length"])
    return {"Aroon Up": up, "Aroon Down": down}


def vortex(b: Bars, p: dict) -> dict:
    return dict(zip(("VI+", "VI-"), talib.VORTEX(b.high, b.low, b.close, p["length"])))


def vortex_pandas(b: Bars, p: dict) -> dict:
    f = b.frame()
    out = pta.vortex(f.high, f.low, f.close, p["length"])
    return {"VI+": column(out.iloc[:, 0]), "VI-": column(out.iloc[:, 1])}


def own(run) -> Oracle:
    """An index made of TA-Lib's Wilder averages, which share our seeds."""
    return Oracle(run, note="made of TA-Lib's RMA", skip={"flat": "0 / 0 before the first move"})


def seeded(run) -> Oracle:
    return Oracle(run, seed="differs", start=260, note=SUMS, skip={"flat": SHORT})


SPECS = {
    "aroon": Spec(variants=[{"length": 14}, {"length": 25}], oracles={"talib": Oracle(aroon), "tulip": Oracle(aroon_tulip)}),
    "aroon_osc": Spec(
        variants=[{"length": 14}, {"length": 25}],
        oracles={
            "talib": Oracle(lambda b, p: {"Aroon Osc": talib.AROONOSC(b.high, b.low, p["length"])}),
            "tulip": Oracle(lambda b, p: {"Aroon Osc": ti("aroonosc", [b.high, b.low], p["length"])[0]}),
        },
    ),
    "vortex": Spec(
        variants=[{"length": 14}, {"length": 21}],
        oracles={
            "talib": Oracle(vortex, until=UNTIL_SPIKE, skip={"flat": FLAT}),
            "pandas_ta": Oracle(vortex_pandas, until=UNTIL_SPIKE, skip={"flat": FLAT}),
        },
    ),
    "adxr": Spec(
        variants=[{"length": 14}, {"length": 7}],
        oracles={
            "talib": own(adxr),
            "talib:adxr": seeded(lambda b, p: {"ADXR": talib.ADXR(b.high, b.low, b.close, p["length"])}),
        },
    ),
    "dx": Spec(
        variants=[{"length": 14}, {"length": 7}],
        oracles={
            "talib": own(lambda b, p: {"DX": dx(b, p)}),
            "talib:dx": seeded(lambda b, p: {"DX": talib.DX(b.high, b.low, b.close, p["length"])}),
        },
    ),
    "dm": Spec(
        variants=[{"length": 14}, {"length": 7}],
        oracles={
            "talib": Oracle(dm, note="made of TA-Lib's RMA"),
            "talib:dm": seeded(
                lambda b, p: {
                    "+DM": talib.PLUS_DM(b.high, b.low, p["length"]),
                    "-DM": talib.MINUS_DM(b.high, b.low, p["length"]),
                }
            ),
        },
    ),
    "roc": Spec(
        variants=[{"period": 14, "mode": "fraction"}, {"period": 7, "mode": "ratio"}],
        oracles={
            "talib": Oracle(lambda b, p: {"ROC": (talib.ROCP if p["mode"] == "fraction" else talib.ROCR)(b.close, p["period"])}),
        },
    ),
    "er": Spec(
        variants=[{"length": 10}, {"length": 20, "source": "hl2"}],
        oracles={
            "talib": of_price("ER", "ER", until=UNTIL_SPIKE, skip={"flat": FLAT}),
            "pandas_ta": Oracle(
                lambda b, p: {"ER": column(pta.er(pd.Series(price(b, p)), p["length"]))}, until=UNTIL_SPIKE, skip={"flat": FLAT}
            ),
        },
    ),
    "vhf": Spec(
        variants=[{"length": 28}, {"length": 10, "source": "hlc3"}],
        oracles={
            "talib": of_price("VHF", "VHF", until=UNTIL_SPIKE, skip={"flat": FLAT}),
            "tulip": tulip_price("vhf", "VHF", until=UNTIL_SPIKE, skip={"flat": FLAT}),
        },
    ),
}
