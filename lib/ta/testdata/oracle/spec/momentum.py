"""Momentum oscillators."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, after, column, ti

FLAT = "0 or another fixed value where the price stands still; none on TradingView"
UNTIL_SPIKE = {"spike": 90}  # rolling sums keep remainders of a spike


def price(b: Bars, p: dict) -> np.ndarray:
    return b.source(p.get("source", "close"))


def of_price(name: str, label: str, key: str = "length", **kwargs) -> Oracle:
    """A TA-Lib function of one price and one length."""
    fn = getattr(talib, name)
    return Oracle(lambda b, p: {label: fn(price(b, p), p[key])}, **kwargs)


def tulip_price(name: str, label: str, **kwargs) -> Oracle:
    return Oracle(lambda b, p: {label: ti(name, [price(b, p)], p["length"])[0]}, **kwargs)


def ema(x: np.ndarray, n: int) -> np.ndarray:
    return x if n == 1 else after(talib.EMA, x, n)


def ppo(b: Bars, p: dict) -> dict:
    x = price(b, p)
    slow = ema(x, p["slow"])
    line = 100 * (ema(x, p["fast"]) - slow) / slow
    signal = ema(line, p["signal"])
    return {"PPO": line, "Signal": signal, "hist": {"0": line - signal}}


def apo(b: Bars, p: dict) -> dict:
    x = price(b, p)
    return {"APO": ema(x, p["fast"]) - ema(x, p["slow"])}


def stoch_rsi(b: Bars, p: dict) -> dict:
    _, k = talib.STOCHRSI(price(b, p), p["rsi_length"], p["stoch_length"], p["smooth_k"], 0)
    return {"K": k, "D": after(talib.SMA, k, p["smooth_d"])}


def change(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[np.nan], np.diff(x)])


def tsi(b: Bars, p: dict) -> dict:
    d = change(price(b, p))
    up, size = (ema(ema(x, p["long"]), p["short"]) for x in (d, np.abs(d)))
    line = 100 * up / size
    return {"TSI": line, "Signal": ema(line, p["signal"])}


def smi(b: Bars, p: dict) -> dict:
    high, low = talib.MAX(b.high, p["length"]), talib.MIN(b.low, p["length"])
    k = p["smooth"]
    line = 200 * ema(ema(b.close - (high + low) / 2, k), k) / ema(ema(high - low, k), k)
    return {"SMI": line, "Signal": ema(line, p["signal"])}


def pmo(b: Bars, p: dict) -> dict:
    line = ema(10 * ema(talib.ROC(price(b, p), 1), p["first"] - 1), p["second"] - 1)
    return {"PMO": line, "Signal": ema(line, p["signal"])}


def kst(b: Bars, p: dict) -> dict:
    parts = [p[f"{kind}{i}"] for kind in ("roc", "sma") for i in range(1, 5)]
    out = pta.kst(pd.Series(price(b, p)), *parts, p["signal"])
    return {"KST": column(out.iloc[:, 0]) / 100, "Signal": column(out.iloc[:, 1]) / 100}


def kst_talib(b: Bars, p: dict) -> dict:
    parts = (i * after(talib.SMA, talib.ROC(price(b, p), p[f"roc{i}"]), p[f"sma{i}"]) for i in range(1, 5))
    line = sum(parts)
    return {"KST": line, "Signal": after(talib.SMA, line, p["signal"])}


KST = {"roc1": 10, "roc2": 15, "roc3": 20, "roc4": 30, "sma1": 10, "sma2": 10, "sma3": 10, "sma4": 15, "signal": 9}


def rvgi(b: Bars, p: dict) -> dict:
    f = b.frame()
    out = pta.rvgi(f.open, f.high, f.low, f.close, length=p["length"], swma_length=4)
    return {"RVGI": column(out.iloc[:, 1]), "Signal": column(out.iloc[:, 2])}  # the first column is their difference


def kdj(b: Bars, p: dict) -> dict:
    k, d, j = talib.KDJ(b.high, b.low, b.close, p["length"], p["signal"], 13, p["signal"], 13)
    return {"K": k, "D": d, "J": j}


def squeeze(b: Bars, p: dict) -> dict:
    f = b.frame()
    n = p["length"]
    out = pta.squeeze(f.high, f.low, f.close, n, p["bb_mult"], n, p["kc_mult"], lazybear=True, mamode="sma")
    momentum = column(out.iloc[:, 0])
    on = np.where(np.isfinite(momentum), column(out["SQZ_ON"]), np.nan)
    return {"Momentum": momentum, "Squeeze": on, "hist": {"0": momentum}}


def td_sequential(b: Bars, p: dict) -> dict:
    out = pta.td_seq(pd.Series(price(b, p)))
    up, down = (np.nan_to_num(column(out.iloc[:, i])) for i in (0, 1))
    count = up - down
    count[:4] = np.nan
    setup = {"td_buy": -9, "td_sell": 9}
    return {"TD": count, "hist": {"0": count}, "signals": {k: np.flatnonzero(count == v) for k, v in setup.items()}}


SPECS = {
    "td_sequential": Spec(variants=[{}, {"source": "hlc3"}], oracles={"pandas_ta": Oracle(td_sequential)}),
    "momentum": Spec(
        variants=[{"length": 10}, {"length": 21, "source": "hl2"}],
        oracles={"talib": of_price("MOM", "Mom"), "tulip": tulip_price("mom", "Mom")},
    ),
    "stoch_rsi": Spec(
        variants=[
            {"rsi_length": 14, "stoch_length": 14, "smooth_k": 3, "smooth_d": 3},
            {"rsi_length": 7, "stoch_length": 21, "smooth_k": 5, "smooth_d": 4, "source": "hlc3"},
        ],
        oracles={"talib": Oracle(stoch_rsi, skip={"flat": FLAT})},
    ),
    "ao": Spec(
        variants=[{"fast": 5, "slow": 34}, {"fast": 8, "slow": 13}],
        oracles={
            "talib": Oracle(lambda b, p: {"AO": talib.AO(b.high, b.low, p["fast"], p["slow"])}, until=UNTIL_SPIKE),
            "pandas_ta": Oracle(lambda b, p: {"AO": column(pta.ao(*b.hl(), p["fast"], p["slow"]))}, until=UNTIL_SPIKE),
        },
    ),
    "ac": Spec(
        variants=[{"fast": 5, "slow": 34, "signal": 5}, {"fast": 8, "slow": 13, "signal": 9}],
        oracles={
            "talib": Oracle(lambda b, p: {"AC": talib.AC(b.high, b.low, p["fast"], p["slow"], p["signal"])}, until=UNTIL_SPIKE)
        },
    ),
    "ppo": Spec(
        variants=[{"fast": 12, "slow": 26, "signal": 9}, {"fast": 10, "slow": 21, "signal": 5, "source": "ohlc4"}],
        oracles={
            "talib": Oracle(ppo, note="made of TA-Lib's EMA, each seeded at its own length"),
            "talib:ppo": Oracle(
                lambda b, p: {"PPO": talib.PPO(price(b, p), p["fast"], p["slow"], 1)},
                seed="differs",
                note="the fast average starts where the slow one does",
                skip={"flat": "too few bars after the move"},
            ),
        },
    ),
    "apo": Spec(
        variants=[{"fast": 12, "slow": 26, "ma": "sma"}, {"fast": 12, "slow": 26}, {"fast": 5, "slow": 35, "source": "hl2"}],
        oracles={
            "talib": Oracle(
                lambda b, p: {"APO": talib.APO(price(b, p), p["fast"], p["slow"], 0)},
                takes=lambda p: p.get("ma") == "sma",
                until=UNTIL_SPIKE,
            ),
            "talib:ema": Oracle(apo, note="made of TA-Lib's EMA, each seeded at its own length", takes=lambda p: "ma" not in p),
            "talib:apo": Oracle(
                lambda b, p: {"APO": talib.APO(price(b, p), p["fast"], p["slow"], 1)},
                seed="differs",
                note="the fast average starts where the slow one does",
                takes=lambda p: "ma" not in p,
            ),
        },
    ),
    "cmo": Spec(
        variants=[{"length": 9}, {"length": 20, "source": "hlc3"}],
        oracles={
            "talib": of_price("CMOU", "CMO", until=UNTIL_SPIKE, skip={"flat": FLAT}),
            "tulip": tulip_price("cmo", "CMO", until=UNTIL_SPIKE, skip={"flat": FLAT}),
        },
    ),
    "tsi": Spec(
        variants=[{"long": 25, "short": 13, "signal": 13}, {"long": 13, "short": 7, "signal": 5, "source": "hl2"}],
        oracles={
            "talib": Oracle(tsi, note="made of TA-Lib's EMA"),
            "talib:tsi": Oracle(lambda b, p: {"TSI": talib.TSI(price(b, p), p["long"], p["short"])}, skip={"flat": FLAT}),
        },
    ),
    "ultimate": Spec(
        variants=[{"fast": 7, "medium": 14, "slow": 28}, {"fast": 5, "medium": 10, "slow": 20}],
        oracles={
            "talib": Oracle(
                lambda b, p: {"UO": talib.ULTOSC(b.high, b.low, b.close, p["fast"], p["medium"], p["slow"])},
                until=UNTIL_SPIKE,
                skip={"flat": FLAT},
            ),
            "tulip": Oracle(
                lambda b, p: {"UO": ti("ultosc", [b.high, b.low, b.close], p["fast"], p["medium"], p["slow"])[0]},
                until=UNTIL_SPIKE,
                skip={"flat": FLAT},
            ),
        },
    ),
    "smi": Spec(
        variants=[{"length": 10, "smooth": 3, "signal": 3}, {"length": 20, "smooth": 5, "signal": 7}],
        oracles={"talib": Oracle(smi, note="made of TA-Lib's EMA, MAX and MIN")},
    ),
    "pmo": Spec(
        variants=[{"first": 35, "second": 20, "signal": 10}, {"first": 12, "second": 7, "signal": 4, "source": "hl2"}],
        oracles={"talib": Oracle(pmo, note="made of TA-Lib's EMA and ROC")},
    ),
    "coppock": Spec(
        variants=[{"length": 10, "long": 14, "short": 11}, {"length": 6, "long": 20, "short": 5, "source": "hlc3"}],
        oracles={
            "talib": Oracle(
                lambda b, p: {"Coppock": talib.COPPOCK(price(b, p), p["length"], p["short"], p["long"])},
                until={**UNTIL_SPIKE, "flat": 160},
                note="a rolling sum keeps a remainder where the price stands still",
            ),
            "pandas_ta": Oracle(
                lambda b, p: {"Coppock": column(pta.coppock(pd.Series(price(b, p)), p["length"], p["short"], p["long"]))},
                until=UNTIL_SPIKE,
            ),
        },
    ),
    "kst": Spec(
        variants=[KST, {**KST, "roc1": 7, "sma4": 20, "signal": 5, "source": "hl2"}],
        oracles={
            "talib": Oracle(kst_talib, until=UNTIL_SPIKE, note="made of TA-Lib's SMA and ROC"),
            "pandas_ta": Oracle(kst, until=UNTIL_SPIKE, note="100 times as large there"),
        },
    ),
    "rvgi": Spec(
        variants=[{"length": 10}, {"length": 14}],
        oracles={"pandas_ta": Oracle(rvgi, until=UNTIL_SPIKE, skip={"flat": FLAT})},
    ),
    "kdj": Spec(
        variants=[{"length": 9, "signal": 3}, {"length": 14, "signal": 5}],
        oracles={
            "talib": Oracle(
                kdj,
                start=lambda p: p["length"] + 2 * p["signal"] - 3,
                note="all lines begin where D does",
                skip={"flat": FLAT},
            )
        },
    ),
    "squeeze": Spec(
        variants=[{"length": 20, "bb_mult": 2, "kc_mult": 1.5}, {"length": 14, "bb_mult": 1.5, "kc_mult": 2}],
        oracles={"pandas_ta": Oracle(squeeze, until=UNTIL_SPIKE)},
    ),
    "dpo": Spec(
        variants=[{"length": 21}, {"length": 10, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(
                lambda b, p: {"DPO": column(pta.dpo(pd.Series(price(b, p)), p["length"], centered=False))}, until=UNTIL_SPIKE
            ),
        },
    ),
    "bop": Spec(
        variants=[{}],
        oracles={
            "talib": Oracle(lambda b, p: {"BOP": talib.BOP(b.open, b.high, b.low, b.close)}),
            "tulip": Oracle(lambda b, p: {"BOP": ti("bop", [b.open, b.high, b.low, b.close])[0]}),
        },
    ),
    "qstick": Spec(
        variants=[{"length": 10}, {"length": 8}],
        oracles={
            "talib": Oracle(lambda b, p: {"QStick": talib.QSTICK(b.open, b.close, p["length"])}, until=UNTIL_SPIKE),
            "tulip": Oracle(lambda b, p: {"QStick": ti("qstick", [b.open, b.close], p["length"])[0]}, until=UNTIL_SPIKE),
        },
    ),
    "imi": Spec(
        variants=[{"length": 14}, {"length": 5}],
        oracles={"talib": Oracle(lambda b, p: {"IMI": talib.IMI(b.open, b.close, p["length"])}, skip={"flat": FLAT})},
    ),
    "fosc": Spec(
        variants=[{"length": 14}, {"length": 5, "source": "hlc3"}],
        oracles={"talib": of_price("FOSC", "FOSC", until={**UNTIL_SPIKE, "flat": 160})},
    ),
    "cog": Spec(
        variants=[{"length": 10}, {"length": 21, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(lambda b, p: {"COG": column(pta.cg(pd.Series(price(b, p)), p["length"]))}, until=UNTIL_SPIKE)
        },
    ),
    "psl": Spec(
        variants=[{"length": 12}, {"length": 20, "source": "hl2"}],
        oracles={
            "pandas_ta": Oracle(
                lambda b, p: {"PSL": column(pta.psl(pd.Series(price(b, p)), length=p["length"]))},
                start=lambda p: p["length"],
                note="counts the first bar as one that did not rise",
            )
        },
    ),
    "elder_ray": Spec(
        variants=[{"length": 13}, {"length": 21}],
        oracles={
            "talib": Oracle(lambda b, p: dict(zip(("Bull", "Bear"), talib.ERI(b.high, b.low, b.close, p["length"])))),
        },
    ),
}
