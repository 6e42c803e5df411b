"""What the Python specs share: bars, the description of a spec, adapters of libraries."""

import dataclasses
import json
import pathlib
from typing import Any, Callable

import numpy as np
import pandas as pd
import tulipy

HERE = pathlib.Path(__file__).resolve().parent.parent

PACKAGES = {"talib": "TA-Lib", "pandas_ta": "pandas-ta-classic", "ta": "ta", "tulip": "tulipy"}


@dataclasses.dataclass
class Bars:
    """One bar set as arrays."""

    name: str
    time: np.ndarray
    open: np.ndarray
    high: np.ndarray
    low: np.ndarray
    close: np.ndarray
    volume: np.ndarray

    def source(self, name: str) -> np.ndarray:
        """A price of every bar by its Pine name."""
        o, h, l, c = self.open, self.high, self.low, self.close
        formulas = {"hl2": (h + l) / 2, "hlc3": (h + l + c) / 3, "ohlc4": (o + h + l + c) / 4, "hlcc4": (h + l + c + c) / 4}
        return formulas[name] if name in formulas else getattr(self, name)

    def hl(self) -> tuple[pd.Series, pd.Series]:
        return pd.Series(self.high), pd.Series(self.low)

    def frame(self) -> pd.DataFrame:
        """The bars as a frame with a column for each price."""
        index = pd.to_datetime(self.time, unit="s")
        return pd.DataFrame({k: getattr(self, k) for k in ("open", "high", "low", "close", "volume")}, index=index)


def read_bars(name: str) -> Bars:
    raw = json.loads((HERE / "bars" / f"{name}.json").read_text())
    arrays = (np.array(raw[k], dtype=float) for k in "ohlcv")
    return Bars(name, np.array(raw["t"], dtype=np.int64), *arrays)


def always(_: dict) -> bool:
    return True


@dataclasses.dataclass
class Oracle:
    """How one library computes an indicator.

    run(bars, params) returns {line label: array}, and under "hist" {position: array},
    under "signals" {label: [bars]}.
    """

    run: Callable[[Bars, dict], dict[str, Any]]
    seed: str = "same"
    note: str = ""
    start: int | Callable[[dict], int] = 0  # "from": bars before it are not compared
    until: dict[str, int] = dataclasses.field(default_factory=dict)  # set -> first bar not compared
    skip: dict[str, str] = dataclasses.field(default_factory=dict)  # set -> why
    takes: Callable[[dict], bool] = always


@dataclasses.dataclass
class Spec:
    """The parameters to compute with, the first on every set, and the oracles."""

    variants: list[dict]
    oracles: dict[str, Oracle]
    sets: tuple[str, ...] = ("ordinary", "long", "gap", "spike", "flat", "zerovolume")
    whole: int = 600  # numbers kept of the ordinary set for the first oracle, all lines together


def late(values: np.ndarray, n: int) -> np.ndarray:
    """Puts NaN before a result that begins late, up to n values."""
    values = np.asarray(values, dtype=float)
    return np.concatenate([np.full(n - len(values), np.nan), values])


def column(result: Any) -> np.ndarray:
    """A pandas series as an array."""
    return np.asarray(result, dtype=float)


def after(fn: Callable[..., np.ndarray], values: np.ndarray, *args: Any) -> np.ndarray:
    """Runs fn on the values from the first one on and puts the result back in place."""
    known = np.flatnonzero(np.isfinite(values))
    out = np.full(len(values), np.nan)
    if len(known):
        out[known[0] :] = fn(values[known[0] :], *args)
    return out


def ti(name: str, inputs: list[np.ndarray], *options: float) -> list[np.ndarray]:
    """A function of Tulip: one array for each output."""
    n = len(inputs[0])
    out = getattr(tulipy, name)(*(np.ascontiguousarray(x) for x in inputs), *options)
    return [late(x, n) for x in (out if isinstance(out, tuple) else (out,))]
