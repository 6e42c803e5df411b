#!/usr/bin/env python3
"""Record what TA-Lib says about the bar sets of this package's tests.

    python3 -m venv venv
    venv/bin/pip install TA-Lib==0.8.2 numpy==2.4.6
    venv/bin/python generate.py          # writes talib.json and made.json; the same bytes every time

TA-Lib (BSD licence) is run by hand, never linked or shipped. Every set is given to it
twice. In whole ticks all its sums are exact; those values are recorded. In decimals its
running totals are rounded, and where two lengths are equal, rounding decides: "rounded"
counts the values that then differ.
"""
import csv
import json
import pathlib

import numpy
import talib

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
NAMES = sorted(f[3:].lower() for f in talib.get_functions() if f.startswith("CDL"))
MASK = (1 << 64) - 1


class Random:
    """splitmix64, as in walk_test.go."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) % n


def length(r, size):
    """A length in ticks: none, tiny, small or large, each often."""
    kind = r.below(8)
    if kind < 2:
        return 0
    if kind < 4:
        return r.below(2 + size // 8)
    if kind < 6:
        return r.below(1 + size // 2)
    return r.below(1 + size)


def walk(seed, n, size):
    """Bars in whole ticks whose prices often meet those of the bars before."""
    r, bars = Random(seed), []
    o = h = l = c = 1000 * size
    for _ in range(n):
        # The open: at a price of the bar before, or beyond its ends by a gap.
        above, under = h + 1 + length(r, size), l - 1 - length(r, size)
        start = (c, c, o, above, under, h, l, (o + c) // 2)[r.below(8)]
        # The close: by a length, or at a price of the bar before.
        up = r.below(2) == 0 if abs(start - 1000 * size) < 40 * size else start < 1000 * size
        body = length(r, size)
        end = start + body if up else start - body
        if r.below(4) == 0:
            end = (o, c, h, l)[r.below(4)]
        bare = r.below(3)
        upper = 0 if bare == 0 else length(r, size)
        lower = 0 if bare == 1 else length(r, size)
        o, c = start, end
        h, l = max(o, c) + upper, min(o, c) - lower
        bars.append((o, h, l, c))
    return bars


def talib_values(bars):
    """Every pattern's column over bars (rows of open, high, low, close)."""
    columns = [numpy.ascontiguousarray(col) for col in numpy.array(bars, dtype=float).T]
    return {name: getattr(talib, "CDL" + name.upper())(*columns) for name in NAMES}


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def digest(events):
    """A hash over (bar, value) and how often each value occurs: "hash 100:3 -100:2"."""
    counts = {}
    for _, v in events:
        counts[v] = counts.get(v, 0) + 1
    text = "".join(f"{i}:{v};" for i, v in events)
    return " ".join([f"{fnv(text):016x}"] + [f"{v}:{counts[v]}" for v in sorted(counts)])


def events(column):
    return [(int(i), int(column[i])) for i in numpy.flatnonzero(column)]


def record(name, ticks, unit):
    """One set: ticks are whole numbers, and unit of them make a price of 1."""
    exact = talib_values(ticks)
    decimal = talib_values([[x / unit for x in bar] for bar in ticks])
    rounded = {n: int((exact[n] != decimal[n]).sum()) for n in NAMES}
    return {
        "set": name, "bars": len(ticks), "unit": unit,
        "rounded": {n: k for n, k in rounded.items() if k},
        "values": {n: d for n in NAMES if (d := digest(events(exact[n]))) != digest([])},
    }


WALKS = [  # name, seed, bars, size of a large body in ticks, ticks per unit of price
    ("walk_half", 1, 20000, 12, 2), ("walk_one", 2, 20000, 6, 1), ("walk_ten", 3, 20000, 24, 0.1),
    ("walk_cent", 4, 20000, 40, 100), ("walk_tenth", 5, 20000, 9, 10), ("walk_fine", 6, 20000, 4000, 10000),
]


def oracle_sets():
    for path in sorted((ROOT / "lib/ta/testdata/oracle/bars").glob("*.json")):
        s = json.loads(path.read_text())
        yield s["name"], [[round(x * 100) for x in bar] for bar in zip(s["o"], s["h"], s["l"], s["c"])], 100


def real_sets():
    """Real bars beside the repository, which are read in place."""
    data = ROOT.parent / "shared/data"
    for name, digits in [
        ("BTCUSDT_1h", 2), ("ETHUSDT_1h", 2), ("BTCUSDT_1d", 2), ("AAPL_1d", 6),
        ("skender/default", 2), ("skender/intraday", 4), ("skender/longest", 2),
    ]:
        unit = 10**digits
        with open(data / (name + ".csv"), newline="", encoding="utf-8-sig") as f:
            rows = list(csv.reader(f))[1:]
        yield "real/" + name, [[round(float(x) * unit) for x in row[1:5]] for row in rows], unit


WINDOW = 20  # bars of a made sequence: the longest look back, and a hikkake before its confirmation


def made():
    """For each value of each pattern the first bars of some walks that have it, at their end."""
    found = {}
    for seed in range(100, 112):
        bars = walk(seed, 100000, 12 if seed % 2 else 30)
        for name, column in talib_values(bars).items():
            for value in sorted(set(column[column != 0].tolist())):
                for i in numpy.flatnonzero(column == value)[:50]:
                    key, window = (name, value), bars[max(0, i - WINDOW + 1) : i + 1]
                    if key in found or len(window) < WINDOW:
                        continue
                    if talib_values(window)[name][-1] == value:
                        found[key] = window
    return [{"pattern": n, "value": v, "bars": found[n, v]} for n, v in sorted(found)]


def neighbours(window):
    """The window with a change in its last five bars: one price moved by a tick or set to
    another price there, or open and close exchanged."""
    last, prices = len(window) - 1, [(back, price) for back in range(5) for price in range(4)]
    for back, price in prices:
        here = window[last - back][price]
        values = [here - 1, here + 1] + [window[last - b][p] for b, p in prices if window[last - b][p] != here]
        for value in values:
            other = [list(bar) for bar in window]
            other[last - back][price] = value
            yield other
    for back in range(5):
        other = [list(bar) for bar in window]
        o, h, l, c = other[last - back]
        other[last - back] = [c, h, l, o]
        yield other


def record_made():
    sequences, near, last = made(), {n: [] for n in NAMES}, 0
    for m in sequences:
        values = talib_values(m["bars"])
        m["last"] = {n: int(values[n][-1]) for n in NAMES if values[n][-1]}
        for other in neighbours(m["bars"]):
            values = talib_values(other)
            for n in NAMES:
                if values[n][-1]:
                    near[n].append((last, int(values[n][-1])))
            last += 1
    write("made.json", {"sequences": sequences, "neighbours": {n: digest(e) for n, e in near.items()}})
    print(len(sequences), "sequences of", len({m["pattern"] for m in sequences}), "patterns,", last, "neighbours")


def main():
    record_made()
    sets = [record(name, walk(seed, bars, size), unit) for name, seed, bars, size, unit in WALKS]
    sets += [record(*s) for s in oracle_sets()]
    sets += [record(*s) for s in real_sets()]
    write("talib.json", {"versions": {"TA-Lib": talib.__version__, "numpy": numpy.__version__}, "sets": sets})
    for s in sets:
        print(s["set"], s["bars"], "bars,", len(s["values"]), "patterns, rounded", s["rounded"])


def write(name, value):
    (HERE / name).write_text(json.dumps(value, separators=(",", ":")).replace("},{", "},\n{") + "\n")


if __name__ == "__main__":
    main()
