"""Ehlers' dominant cycle, and oscillators with logarithms and ranks."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, column, ti
from spec.momentum import FLAT, ema, price

STILL = "rounding decides the phase where the price stands still"
SPIKES = "keeps remainders of the spikes in the sums of its smoothing"


def cycle(name: str, *labels: str) -> Spec:
    """A TA-Lib function of one price without parameters."""
    fn = getattr(talib, name)

    def run(b: Bars, p: dict) -> dict:
        out = fn(price(b, p))
        return dict(zip(labels, out if len(labels) > 1 else (out,)))

    skip = {"flat": STILL, "spike": SPIKES}
    return Spec(variants=[{}, {"source": "hl2"}], oracles={"talib": Oracle(run, skip=skip)})


def trend_mode(b: Bars, p: dict) -> dict:
    out = talib.HT_TRENDMODE(price(b, p)).astype(float)
    out[:63] = np.nan  # whole numbers have no NaN
    return {"Trend": out}


def mama(b: Bars, p: dict) -> dict:
    return dict(zip(("MAMA", "FAMA"), talib.MAMA(price(b, p), p["fast_limit"], p["slow_limit"])))


def trix(b: Bars, p: dict) -> dict:
    line = np.log(price(b, p))
    for _ in range(3):
        line = ema(line, p["length"])
    return {"TRIX": 10000 * np.concatenate([[np.nan], np.diff(line)])}


def fisher(b: Bars, p: dict) -> dict:
    return dict(zip(("Fisher", "Trigger"), ti("fisher", [b.high, b.low], p["length"])))


def fisher_pandas(b: Bars, p: dict) -> dict:
    out = pta.fisher(*b.hl(), length=p["length"])
    return {"Fisher": column(out.iloc[:, 0])}


def connors(b: Bars, p: dict) -> dict:
    x = price(b, p)
    sign = np.sign(np.concatenate([[np.nan], np.diff(x)]))
    streak = np.full(len(x), np.nan)
    for i in range(1, len(x)):
        last = streak[i - 1] if i > 1 else 0
        streak[i] = sign[i] * (abs(last) + 1 if last * sign[i] > 0 else 1)
    n = p["rank_length"]
    rank = 100 * (column(pd.Series(talib.ROC(x, 1)).rolling(n + 1).rank(method="max")) - 1) / n
    return {"CRSI": (talib.RSI(x, p["length"]) + talib.RSI(streak, p["streak_length"]) + rank) / 3}


SPECS = {
    "ht_trendline": cycle("HT_TRENDLINE", "Trendline"),
    "ht_dcperiod": cycle("HT_DCPERIOD", "Period"),
    "ht_dcphase": cycle("HT_DCPHASE", "Phase"),
    "ht_phasor": cycle("HT_PHASOR", "In Phase", "Quadrature"),
    "ht_sine": cycle("HT_SINE", "Sine", "Lead Sine"),
    "ht_trendmode": Spec(variants=[{}, {"source": "hl2"}], oracles={"talib": Oracle(trend_mode, skip={"flat": STILL, "spike": SPIKES})}),
    "mama": Spec(
        variants=[{"fast_limit": 0.5, "slow_limit": 0.05, "source": "hl2"}, {"fast_limit": 0.8, "slow_limit": 0.1, "source": "close"}],
        oracles={"talib": Oracle(mama, skip={"flat": STILL, "spike": SPIKES})},
    ),
    "trix": Spec(
        variants=[{"length": 18}, {"length": 9, "source": "hlc3"}],
        oracles={"talib": Oracle(trix, note="made of TA-Lib's EMA")},
    ),
    "fisher": Spec(
        variants=[{"length": 9}, {"length": 14}],
        oracles={
            "tulip": Oracle(fisher, start=lambda p: p["length"], note="the first trigger is 0 there", skip={"flat": FLAT}),
            "pandas_ta": Oracle(fisher_pandas, seed="differs", note="begins at 0 without a first value", skip={"flat": FLAT}),
        },
    ),
    "connors_rsi": Spec(
        variants=[{"length": 3, "streak_length": 2, "rank_length": 100}, {"length": 5, "streak_length": 4, "rank_length": 30, "source": "hl2"}],
        oracles={"talib": Oracle(connors, note="made of TA-Lib's RSI and the rank of pandas: TA-Lib's PERCENTRANK leaves equal values out", skip={"flat": "its RSI is 0 without a move"})},
    ),
}
