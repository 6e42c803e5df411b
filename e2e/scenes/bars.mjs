// Writes the bars that the tests of indicators have as files of candela: node bars.mjs FOLDER
import { readFileSync, writeFileSync } from "node:fs";

for (const [name, file] of [["long", "BTCUSDT_1h"], ["ordinary", "ETHUSDT_1h"], ["daily", "AAPL_1d"]]) {
  const b = JSON.parse(readFileSync(new URL(`../../lib/ta/testdata/oracle/bars/${name}.json`, import.meta.url)));
  const rows = b.t.map((t, i) => [t, b.o[i], b.h[i], b.l[i], b.c[i], b.v[i]].join(","));
  writeFileSync(`${process.argv[2]}/${file}.csv`, ["time,open,high,low,close,volume", ...rows, ""].join("\n"));
}
