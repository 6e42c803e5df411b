// Runs every spec, or those named on the command line, on the bar sets and writes
// one JSON file per indicator. Prints how far the oracles are from each other, so
// that a difference of convention is seen here and not mistaken for a fault of ours.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readBars, setNames } from './lib/bars.mjs';

const here = new URL('.', import.meta.url);
const lock = JSON.parse(readFileSync(new URL('package-lock.json', here), 'utf8'));
const packages = { talib: 'talib', tulip: 'tulind', oak: 'oakscriptjs', pine: 'pinets' };
const version = (oracle) => `${packages[oracle]} ${lock.packages[`node_modules/${packages[oracle]}`].version}`;

const digits = 13; // 5e-13 of rounding at worst, against a tolerance of 1e-10
const longStep = 23; // of the long set one value in so many is kept

// squeeze writes three or more equal values in a row as [value, count].
function squeeze(values) {
  const out = [];
  for (let i = 0; i < values.length;) {
    let end = i + 1;
    while (end < values.length && values[end] === values[i]) end++;
    if (end - i > 2) out.push([values[i], end - i]);
    else out.push(...values.slice(i, end));
    i = end;
  }
  return out;
}

// pack drops the leading NaN of a series: index of the first value, then values,
// null where there is none.
function pack(values, step) {
  const first = values.findIndex((v) => Number.isFinite(v));
  if (first < 0) return { first: -1, values: [] };
  const kept = [];
  for (let i = first; i < values.length; i += step) {
    kept.push(Number.isFinite(values[i]) ? Number(values[i].toPrecision(digits)) : null);
  }
  return { first, values: squeeze(kept) };
}

function packAll(series, step) {
  return Object.fromEntries(Object.entries(series).map(([label, values]) => [label, pack(values, step)]));
}

async function runCase(spec, params, oracle, set) {
  const { run, seed = 'same', from = 0, until = {}, note } = spec.oracles[oracle];
  const bars = readBars(set);
  const { hist = {}, signals = {}, ...lines } = await run(bars, params);
  const step = set === 'long' ? longStep : (spec.step ?? 1);
  const result = { oracle, set, params, seed, step };
  const start = typeof from === 'function' ? from(params) : from;
  if (start > 0) result.from = start;
  if (until[set]) result.until = until[set];
  if (note) result.note = note;
  result.lines = packAll(lines, step);
  if (Object.keys(hist).length > 0) result.hist = packAll(hist, step);
  if (Object.keys(signals).length > 0) result.signals = signals;
  return { result, raw: { ...lines, ...hist } };
}

// setsOf lists where one variant of the parameters is run: the first on every
// set, the others on the ordinary one, the smallest and largest lengths on gap.
function setsOf(spec, nth, oracle) {
  if (nth >= spec.variants.length) return (spec.edgeOracles ?? ['oak', 'pine']).includes(oracle) ? ['gap'] : [];
  const all = setNames.filter((s) => s !== 'daily' || spec.daily);
  const sets = nth === 0 ? (spec.sets ?? all) : (spec.otherSets ?? ['ordinary']);
  const skip = spec.oracles[oracle].skip ?? {};
  return sets.filter((s) => !(s in skip));
}

const scale = (values) => {
  const sizes = values
    .filter(Number.isFinite)
    .map(Math.abs)
    .sort((a, b) => a - b);
  return sizes.length ? sizes[sizes.length >> 1] : 0;
};

// distance is the worst difference of two oracles relative to the value, or to
// the median of the line where the value is near zero.
function distance(a, b, start, end) {
  let worst = 0;
  let at = -1;
  const floor = scale(a);
  for (let i = start; i < end; i++) {
    if (Number.isFinite(a[i]) !== Number.isFinite(b[i])) return { worst: Infinity, at: i };
    if (!Number.isFinite(a[i]) || a[i] === b[i]) continue;
    const d = Math.abs(a[i] - b[i]) / Math.max(Math.abs(a[i]), floor);
    if (d > worst) [worst, at] = [d, i];
  }
  return { worst, at };
}

function compare(name, done) {
  for (let i = 0; i < done.length; i++) {
    for (let j = i + 1; j < done.length; j++) {
      const [a, b] = [done[i], done[j]];
      if (a.result.set !== b.result.set || JSON.stringify(a.result.params) !== JSON.stringify(b.result.params)) continue;
      const seeded = a.result.seed !== 'same' || b.result.seed !== 'same';
      const start = Math.max(seeded ? 200 : 0, a.result.from ?? 0, b.result.from ?? 0);
      for (const label of Object.keys(a.raw)) {
        if (!(label in b.raw)) continue;
        const end = Math.min(a.result.until ?? Infinity, b.result.until ?? Infinity, a.raw[label].length);
        const { worst, at } = distance(a.raw[label], b.raw[label], start, end);
        if (worst > (seeded ? 1e-7 : 1e-11)) {
          console.log(
            `${name} ${a.result.set} ${label} ${JSON.stringify(a.result.params)}: ${a.result.oracle} and ${b.result.oracle} differ by ${worst.toExponential(1)} at ${at}: ${a.raw[label][at]} ${b.raw[label][at]}`,
          );
        }
      }
    }
  }
}

async function generate(name) {
  const { default: spec } = await import(`./spec/${name}.mjs`);
  const done = [];
  const leftOut = [];
  for (const [nth, params] of [...spec.variants, ...(spec.edges ?? [])].entries()) {
    for (const oracle of Object.keys(spec.oracles)) {
      if (!(spec.oracles[oracle].takes ?? (() => true))(params)) continue;
      for (const set of setsOf(spec, nth, oracle)) done.push(await runCase(spec, params, oracle, set));
      if (nth > 0) continue;
      for (const [set, why] of Object.entries(spec.oracles[oracle].skip ?? {})) leftOut.push({ oracle, set, why });
    }
  }
  compare(name, done);
  for (const signal of new Set(done.flatMap((d) => Object.keys(d.result.signals ?? {})))) {
    if (!done.some((d) => d.result.signals?.[signal]?.length))
      throw new Error(`${name}: ${signal} is never raised, so nothing would be compared`);
  }
  const head = {
    indicator: spec.indicator,
    versions: Object.fromEntries(Object.keys(spec.oracles).map((o) => [o, version(o)])),
    left_out: leftOut,
  };
  const rows = done.map((d) => JSON.stringify(d.result)).join(',\n');
  const text = `${JSON.stringify(head).slice(0, -1)},"cases":[\n${rows}\n]}\n`;
  writeFileSync(new URL(`${name}.json`, here), text);
  console.log(`${name}.json: ${done.length} cases, ${text.length} bytes`);
}

const named = process.argv.slice(2);
const all = readdirSync(new URL('spec/', here))
  .filter((f) => f.endsWith('.mjs')) // generate.py runs the others
  .map((f) => f.replace(/\.mjs$/, ''))
  .sort();
for (const name of named.length ? named : all) await generate(name);
