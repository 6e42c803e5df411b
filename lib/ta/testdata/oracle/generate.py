"""Runs the Python specs, or those named on the command line, on the bar sets and writes
one JSON file per indicator. Prints where two oracles differ, which shows differences of
convention. The README has the format and the commands."""

import importlib
import importlib.metadata
import json
import sys

import numpy as np

from lib.oracles import HERE, PACKAGES, Oracle, Spec, read_bars

DIGITS = 12  # 5e-12 of rounding at worst, against a tolerance of 1e-10
STEPS = {"long": 97}  # one value in so many is kept
OTHER_STEP, EDGE_STEP = 11, 11  # of other parameters and oracles; of the other sets
SECOND = ("ordinary", "gap", "flat")  # the sets of a second oracle


def library(key: str) -> str:
    """The oracle of a key: "talib:rma" is a second way to compute with talib."""
    return key.partition(":")[0]


def rounded(x: float) -> float | int | None:
    if not np.isfinite(x):
        return None
    short = float(f"{x:.{DIGITS - 1}e}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def squeeze(values: list) -> list:
    """Writes three or more equal values in a row as [value, count]."""
    out, i = [], 0
    while i < len(values):
        end = i + 1
        while end < len(values) and values[end] == values[i]:
            end += 1
        out += [[values[i], end - i]] if end - i > 2 else values[i:end]
        i = end
    return out


def pack(values: np.ndarray, step: int) -> dict:
    known = np.flatnonzero(np.isfinite(values))
    if len(known) == 0:
        return {"first": -1, "values": []}
    first = int(known[0])
    return {"first": first, "values": squeeze([rounded(x) for x in values[first::step]])}


def sets_of(spec: Spec, nth: int, place: int) -> tuple[str, ...]:
    """The sets for the nth parameters and the oracle at a place of those that take them."""
    if nth > 0:
        return ("ordinary",)
    return spec.sets if place == 0 else tuple(s for s in spec.sets if s in SECOND)


def step_of(spec: Spec, set_name: str, main: bool, lines: int) -> int:
    if set_name in STEPS:
        return STEPS[set_name]
    if set_name != "ordinary":
        return EDGE_STEP
    return max(1, -(-600 * lines // spec.whole)) if main else OTHER_STEP


def run_case(spec: Spec, params: dict, name: str, oracle: Oracle, set_name: str, main: bool) -> tuple[dict, dict]:
    bars = read_bars(set_name)
    with np.errstate(all="ignore"):
        lines = dict(oracle.run(bars, params))
    hist, signals = lines.pop("hist", {}), lines.pop("signals", {})
    raw = {k: np.asarray(v, dtype=float) for k, v in {**lines, **{f"hist {k}": v for k, v in hist.items()}}.items()}
    for label, values in raw.items():
        if len(values) != len(bars.close):
            raise ValueError(f"{name}: {label} has {len(values)} values for {len(bars.close)} bars")
    step = step_of(spec, set_name, main, len(raw))
    case = {"oracle": library(name), "set": set_name, "params": params, "seed": oracle.seed, "step": step}
    start = oracle.start(params) if callable(oracle.start) else oracle.start
    if start > 0:
        case["from"] = start
    if set_name in oracle.until:
        case["until"] = oracle.until[set_name]
    if oracle.note:
        case["note"] = oracle.note
    case["lines"] = {k: pack(raw[k], step) for k in lines}
    if hist:
        case["hist"] = {k: pack(raw[f"hist {k}"], step) for k in hist}
    if signals:
        case["signals"] = {k: [int(i) for i in v] for k, v in signals.items()}
    return case, raw


def distance(a: np.ndarray, b: np.ndarray, start: int, end: int) -> tuple[float, int]:
    """The worst difference relative to the value, or to the line's median near zero."""
    sizes = np.sort(np.abs(a[np.isfinite(a)]))
    floor = sizes[len(sizes) // 2] if len(sizes) else 0.0
    worst, at = 0.0, -1
    for i in range(start, end):
        if np.isfinite(a[i]) != np.isfinite(b[i]):
            return np.inf, i
        if not np.isfinite(a[i]) or a[i] == b[i]:
            continue
        d = abs(a[i] - b[i]) / max(abs(a[i]), floor)
        if d > worst:
            worst, at = d, i
    return worst, at


def compare(name: str, done: list[tuple[dict, dict]]) -> None:
    for i, (a, left) in enumerate(done):
        for b, right in done[i + 1 :]:
            if a["set"] != b["set"] or a["params"] != b["params"]:
                continue
            seeded = a["seed"] != "same" or b["seed"] != "same"
            start = max(200 if seeded else 0, a.get("from", 0), b.get("from", 0))
            for label in left.keys() & right.keys():
                end = min(a.get("until", sys.maxsize), b.get("until", sys.maxsize), len(left[label]))
                worst, at = distance(left[label], right[label], start, end)
                if worst > (1e-7 if seeded else 1e-11):
                    pair = f"{a['oracle']} and {b['oracle']} differ by {worst:.1e} at {at}: {left[label][at]} {right[label][at]}"
                    print(f"{name} {a['set']} {label} {json.dumps(a['params'])}: {pair}")


def generate(name: str, spec: Spec) -> None:
    done, left_out = [], []
    for nth, params in enumerate(spec.variants):
        taking = [(o, oracle) for o, oracle in spec.oracles.items() if oracle.takes(params)]
        for place, (o, oracle) in enumerate(taking):
            for set_name in sets_of(spec, nth, place):
                if set_name not in oracle.skip:
                    done.append(run_case(spec, params, o, oracle, set_name, nth == 0 and place == 0))
            if nth == 0:
                left_out += [{"oracle": library(o), "set": s, "why": why} for s, why in oracle.skip.items()]
    compare(name, done)
    for signal in sorted({s for case, _ in done for s in case.get("signals", {})}):
        if not any(case.get("signals", {}).get(signal) for case, _ in done):
            raise ValueError(f"{name}: {signal} is never raised, so nothing would be compared")
    head = {
        "indicator": name,
        "versions": {o: f"{PACKAGES[o]} {importlib.metadata.version(PACKAGES[o])}" for o in map(library, spec.oracles)},
        "left_out": left_out,
    }
    compact = {"separators": (",", ":")}
    rows = ",\n".join(json.dumps(case, **compact) for case, _ in done)
    text = f'{json.dumps(head, **compact)[:-1]},"cases":[\n{rows}\n]}}\n'
    # The node specs write NAME.json; an indicator that has both kinds has two files.
    suffix = "_py" if (HERE / "spec" / f"{name}.mjs").exists() else ""
    (HERE / f"{name}{suffix}.json").write_text(text)
    print(f"{name}{suffix}.json: {len(done)} cases, {len(text)} bytes")


def main(named: list[str]) -> None:
    specs: dict[str, Spec] = {}
    for path in sorted((HERE / "spec").glob("*.py")):
        for name, spec in importlib.import_module(f"spec.{path.stem}").SPECS.items():
            if name in specs:
                raise ValueError(f"{name} has two specs; one is in {path.name}")
            specs[name] = spec
    for name in named:
        if name not in specs:
            raise SystemExit(f"no spec for {name}; there are {', '.join(specs)}")
    for name in named or specs:
        generate(name, specs[name])


main(sys.argv[1:])
