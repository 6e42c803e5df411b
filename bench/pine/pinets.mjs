// Prints the processor time that PineTS takes for each script, in us a bar: the best of
// twelve runs in one process, after its first one has warmed up.
//   node pinets.mjs BARS.csv SCRIPT.pine...
import { readFileSync } from 'node:fs';
import { PineTS } from 'pinets';

const [bars, ...scripts] = process.argv.slice(2);
const rows = readFileSync(bars, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map(Number));
const data = rows.map(([t, open, high, low, close, volume]) => ({
  openTime: t * 1000, closeTime: (t + 3600) * 1000 - 1, open, high, low, close, volume,
}));
for (const file of scripts) {
  const source = readFileSync(file, 'utf8');
  let best = Infinity;
  for (let i = 0; i < 12; i++) {
    const engine = new PineTS(data);
    await engine.ready();
    const start = process.cpuUsage();
    await engine.run(source);
    best = Math.min(best, process.cpuUsage(start).user / data.length);
  }
  console.log(`PineTS ${file} ${best.toFixed(2)} us a bar`);
}
