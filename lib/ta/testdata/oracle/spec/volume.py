"""Measures of volume."""

import numpy as np
import pandas as pd
import pandas_ta_classic as pta
import talib

from lib.oracles import Bars, Oracle, Spec, column, ti


def pvo(b: Bars, p: dict) -> dict:
    r = pta.pvo(pd.Series(b.volume), fast=p["fast"], slow=p["slow"], signal=p["signal"])
    return {"PVO": column(r.iloc[:, 0]), "Signal": column(r.iloc[:, 2]), "hist": {"0": column(r.iloc[:, 1])}}


def index(name: str, values: np.ndarray, p: dict) -> dict:
    return {name: values, "Signal": talib.EMA(values, p["signal"])}


SPECS = {
    "volume": Spec(
        variants=[{"length": 20}, {"length": 5}],
        oracles={"talib": Oracle(lambda b, p: {"Volume": b.volume, "MA": talib.SMA(b.volume, p["length"])})},
    ),
    "relative_volume": Spec(
        variants=[{"length": 20}, {"length": 5}],
        oracles={"talib": Oracle(lambda b, p: {"RVOL": talib.RVOL(b.volume, p["length"])}, skip={"zerovolume": "0 where nothing was traded before"})},
    ),
    "pvo": Spec(
        variants=[{"fast": 12, "slow": 26, "signal": 9}, {"fast": 5, "slow": 10, "signal": 4}],
        oracles={"pandas_ta": Oracle(pvo)},
        whole=360,
    ),
    "chaikin_osc": Spec(
        variants=[{"fast": 3, "slow": 10}, {"fast": 6, "slow": 20}],
        oracles={
            "talib": Oracle(
                lambda b, p: {"CO": talib.ADOSC(b.high, b.low, b.close, b.volume, p["fast"], p["slow"])},
                seed="differs",
                note="both averages begin with the first bar",
            ),
        },
    ),
    "force": Spec(
        variants=[{"length": 13}, {"length": 2}],
        oracles={
            "talib": Oracle(lambda b, p: {"EFI": talib.EFI(b.close, b.volume, p["length"])}),
            "pandas_ta": Oracle(lambda b, p: {"EFI": column(pta.efi(b.frame().close, b.frame().volume, length=p["length"]))}),
        },
        whole=300,
    ),
    "eom": Spec(
        variants=[{"length": 14, "divisor": 10000}, {"length": 5, "divisor": 1000000}],
        oracles={
            "pandas_ta": Oracle(
                lambda b, p: {"EOM": column(pta.eom(b.frame().high, b.frame().low, b.frame().close, b.frame().volume, length=p["length"], divisor=p["divisor"]))},
                skip={"zerovolume": "a bar without volume is an infinity there"},
            ),
        },
    ),
    "pvt": Spec(
        variants=[{}],
        oracles={"talib": Oracle(lambda b, p: {"PVT": talib.PVT(b.close, b.volume)})},
    ),
    "nvi": Spec(
        variants=[{"signal": 255}, {"signal": 20}],
        oracles={
            "talib": Oracle(lambda b, p: index("NVI", talib.NVI(b.close, b.volume), p)),
            "tulip": Oracle(lambda b, p: index("NVI", ti("nvi", [b.close, b.volume])[0], p)),
        },
        whole=250,
    ),
    "pvi": Spec(
        variants=[{"signal": 255}, {"signal": 20}],
        oracles={
            "talib": Oracle(lambda b, p: index("PVI", talib.PVI(b.close, b.volume), p)),
            "tulip": Oracle(lambda b, p: index("PVI", ti("pvi", [b.close, b.volume])[0], p)),
        },
        whole=250,
    ),
    "wad": Spec(
        variants=[{}],
        oracles={
            "talib": Oracle(lambda b, p: {"WAD": talib.WAD(b.high, b.low, b.close)}),
            "tulip": Oracle(lambda b, p: {"WAD": ti("wad", [b.high, b.low, b.close])[0]}, start=1),
        },
    ),
    "market_facilitation": Spec(
        variants=[{}],
        oracles={
            "talib": Oracle(lambda b, p: {"BW MFI": talib.MARKETFI(b.high, b.low, b.volume)}, skip={"zerovolume": "0 without volume"}),
            "tulip": Oracle(lambda b, p: {"BW MFI": ti("marketfi", [b.high, b.low, b.volume])[0]}),
        },
        whole=400,
    ),
}
