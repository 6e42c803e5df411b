"""Times of a picture and of a summary, in turns. Called by run.sh."""

import glob
import io
import json
import math
import os
import statistics
import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")
import mplfinance
import pandas

INDICATORS = ["ema_stack", "cipher_b", "macd"]
ROUNDS = 6
FILE = "file"  # a server that reads files gets bars from one


class Server:
    """An MCP server on stdio."""

    def __init__(self, name, program, home, flags=(), file=()):
        self.name, self.calls, self.file = name, 0, dict(file)
        self.process = subprocess.Popen(
            [program, "--mcp", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": home}
        )
        self.call("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})

    def call(self, method, params):
        self.calls += 1
        request = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name} ended")
            if json.loads(line).get("id") == self.calls:
                return len(line)

    def processor(self):
        """Milliseconds of processor time of all threads."""
        tasks = glob.glob(f"/proc/{self.process.pid}/task/*/schedstat")
        return sum(int(open(task).read().split()[0]) for task in tasks) / 1e6

    def times(self, arguments, count):
        """Processor time of a call, the least time of one, and the bytes of its answer."""
        begin, least = self.processor(), math.inf
        for _ in range(count):
            start = time.perf_counter()
            size = self.call("tools/call", {"name": "generate_chart", "arguments": arguments})
            least = min(least, (time.perf_counter() - start) * 1e3)
        return (self.processor() - begin) / count, least, size


def bars(count):
    """A wave with its averages, for the libraries."""
    rows = []
    for i in range(count):
        a, b = 100 + 10 * math.sin(i / 9) + i / 20, 100 + 10 * math.sin((i + 1) / 9) + i / 20
        rows.append({"time": 1700000000 + 14400 * i, "open": a, "high": max(a, b) + 1, "low": min(a, b) - 1, "close": b, "volume": 50 + i % 17})
    frame = pandas.DataFrame(rows)
    averages = [frame.close.ewm(span=n).mean() for n in (8, 21, 50, 200)]
    macd = frame.close.ewm(span=12).mean() - frame.close.ewm(span=26).mean()
    return rows, frame, averages, [macd, macd.ewm(span=9).mean()]


def write_bars(file, count):
    """A wave as a file of hourly bars, whose symbol candela knows again; made-up bars are computed afresh each time."""
    file.write("time,open,high,low,close,volume\n")
    begin = int(time.time()) // 3600 * 3600 - count * 3600
    for i, row in enumerate(bars(count)[0]):
        file.write(f"{begin + 3600 * i},{row['open']},{row['high']},{row['low']},{row['close']},{row['volume']}\n")


def with_mplfinance(frame, averages, panel):
    table = frame.set_index(pandas.to_datetime(frame.time, unit="s"))
    lines = [mplfinance.make_addplot(a.values) for a in averages] + [mplfinance.make_addplot(p.values, panel=2) for p in panel]
    out = io.BytesIO()
    mplfinance.plot(table, type="candle", volume=True, addplot=lines, figsize=(14.4, 8.1), savefig={"fname": out, "dpi": 100})
    return len(out.getvalue())


class Browser:
    """lightweight-charts in Chromium."""

    def __init__(self, folder):
        self.process = subprocess.Popen(["node", "lightweight.mjs"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def draw(self, rows, averages, panel):
        def points(values):
            return [{"time": r["time"], "value": v} for r, v in zip(rows, values)]

        spec = {"bars": rows, "lines": [points(a) for a in averages], "panel": [points(p) for p in panel]}
        self.process.stdin.write(json.dumps(spec).encode() + b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def compare_servers(servers):
    small = {"format": "summary", "indicators": ["ema", "bbands", "rsi", "macd"]}
    cases = [
        ("chart 1440x810", {"width": 1440, "height": 810}, 10),
        ("chart 1920x1080", {"width": 1920, "height": 1080}, 10),
        ("summary", {"format": "summary"}, 40),
        ("summary of a file", {"format": "summary", FILE: True}, 40),
        ("small summary of a file", {**small, FILE: True}, 40),
    ]
    for name, arguments, count in cases:
        for shown in (200, 500):
            found = {s.name: [] for s in servers}
            for turn in range(ROUNDS):
                for s in servers:
                    asked = {"indicators": INDICATORS, **arguments, "bars": shown}
                    if asked.pop(FILE, False):
                        asked.update(s.file)
                    times = s.times(asked, count)
                    if turn > 0:
                        found[s.name].append(times)
            for program, times in found.items():
                processor = statistics.median(t[0] for t in times)
                print(f"{name}, {shown} bars, {program}: processor {processor:.2f} ms, least time {min(t[1] for t in times):.2f} ms, {times[0][2]} bytes")


def compare_libraries(browser):
    rows, frame, averages, panel = bars(200)
    draws = {
        "mplfinance": lambda: with_mplfinance(frame, averages, panel),
        "lightweight-charts": lambda: browser.draw(rows, averages, panel),
    }
    found = {name: [] for name in draws}
    for turn in range(ROUNDS):
        for name, draw in draws.items():
            start = time.perf_counter()
            size = draw()
            if turn > 0:
                found[name].append(((time.perf_counter() - start) * 1e3, size))
    for name, times in found.items():
        print(f"chart 1440x810, 200 bars, {name}: least time {min(t[0] for t in times):.0f} ms, {times[0][1]} bytes")


def main():
    work, others = sys.argv[1], sys.argv[2:]
    with open(os.path.join(work, "WAVE_1h.csv"), "w") as file:
        write_bars(file, 5000)
    own = Server("candela", os.path.join(work, "candela"), work, ["--csv-dir", work], {"symbol": "csv:WAVE", "interval": "1h"})
    servers = [own] + [Server("chartgen", program, work) for program in others]
    compare_servers(servers)
    compare_libraries(Browser(work))


main()
