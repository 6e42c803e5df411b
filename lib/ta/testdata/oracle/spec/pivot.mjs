import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';
import { periods, runs } from '../lib/bars.mjs';

// aggregate gives, at the first bar of each period, the prices of the one before
// and this one's open; OakScript holds what stands at the anchor until the next.
function aggregate(b, unit) {
  const cut = runs(b, periods[unit]);
  const blank = () => new Array(b.n).fill(NaN);
  const out = { anchor: new Array(b.n).fill(false), high: blank(), low: blank(), close: blank() };
  for (let k = 1; k < cut.length; k++) {
    const [[from, to], [at]] = [cut[k - 1], cut[k]];
    out.anchor[at] = true;
    out.high[at] = Math.max(...b.high.slice(from, to));
    out.low[at] = Math.min(...b.low.slice(from, to));
    out.close[at] = b.close[to - 1];
  }
  return out;
}

// unitOf is the period the levels come from; auto is a week for hours, a month for days.
const unitOf = (b, p) => p.timeframe ?? (b.interval === '1h' ? 'week' : 'month');

const labels = ['Pivot', 'R1', 'S1', 'R2', 'S2', 'R3', 'S3', 'R4', 'S4', 'R5', 'S5'];
const oakNames = { traditional: 'Traditional', fibonacci: 'Fibonacci', camarilla: 'Camarilla' };
const oakLevels = { traditional: 3, fibonacci: 3, camarilla: 4 };

// Pine that numbers the periods.
const numbers = {
  day: 'math.floor(time / 86400000)',
  week: 'math.floor((math.floor(time / 86400000) + 3) / 7)',
  month: 'year(time, "UTC") * 12 + month(time, "UTC")',
  year: 'year(time, "UTC")',
};

// What TradingView's help page "Pivot points standard" gives for each type.
const formulas = {
  traditional: `p = (h + l + c) / 3
r1 = p * 2 - l
s1 = p * 2 - h
r2 = p + (h - l)
s2 = p - (h - l)
r3 = p * 2 + (h - 2 * l)
s3 = p * 2 - (2 * h - l)
r4 = p * 3 + (h - 3 * l)
s4 = p * 3 - (3 * h - l)
r5 = p * 4 + (h - 4 * l)
s5 = p * 4 - (4 * h - l)`,
  classic: `p = (h + l + c) / 3
r1 = 2 * p - l
s1 = 2 * p - h
r2 = p + (h - l)
s2 = p - (h - l)
r3 = p + 2 * (h - l)
s3 = p - 2 * (h - l)
r4 = p + 3 * (h - l)
s4 = p - 3 * (h - l)`,
  fibonacci: `p = (h + l + c) / 3
r1 = p + 0.382 * (h - l)
s1 = p - 0.382 * (h - l)
r2 = p + 0.618 * (h - l)
s2 = p - 0.618 * (h - l)
r3 = p + (h - l)
s3 = p - (h - l)`,
  woodie: `p = (h + l + 2 * o) / 4
r1 = 2 * p - l
s1 = 2 * p - h
r2 = p + (h - l)
s2 = p - (h - l)
r3 = h + 2 * (p - l)
s3 = l - 2 * (h - p)
r4 = r3 + (h - l)
s4 = s3 - (h - l)`,
  dm: `x = po == c ? h + l + 2 * c : c > po ? 2 * h + l + c : 2 * l + h + c
p = x / 4
r1 = x / 2 - l
s1 = x / 2 - h`,
  camarilla: `p = (h + l + c) / 3
r1 = c + 1.1 * (h - l) / 12
s1 = c - 1.1 * (h - l) / 12
r2 = c + 1.1 * (h - l) / 6
s2 = c - 1.1 * (h - l) / 6
r3 = c + 1.1 * (h - l) / 4
s3 = c - 1.1 * (h - l) / 4
r4 = c + 1.1 * (h - l) / 2
s4 = c - 1.1 * (h - l) / 2`,
};

const script = (b, p) => `period = ${numbers[unitOf(b, p)]}
var float o = na
var float hh = na
var float ll = na
var float cc = na
var float po = na
var float h = na
var float l = na
var float c = na
if bar_index == 0 or period != period[1]
    po := o
    h := hh
    l := ll
    c := cc
    o := open
    hh := high
    ll := low
else
    hh := math.max(hh, high)
    ll := math.min(ll, low)
cc := close
${formulas[p.type]}
${labels
  .slice(0, 1 + 2 * p.levels)
  .map((t) => `plot(${t === 'Pivot' ? 'p' : t.toLowerCase()}, "${t}")`)
  .join('\n')}`;

export default {
  indicator: 'pivot',
  sets: ['ordinary', 'gap', 'daily', 'one'],
  otherSets: ['ordinary', 'daily'],
  variants: [
    { type: 'traditional', levels: 3 },
    { type: 'traditional', levels: 5 },
    { type: 'classic', levels: 4 },
    { type: 'fibonacci', levels: 3 },
    { type: 'woodie', levels: 4 },
    { type: 'dm', levels: 1 },
    { type: 'camarilla', levels: 4 },
    { type: 'traditional', levels: 2, timeframe: 'day' },
    { type: 'traditional', levels: 2, timeframe: 'month' },
    { type: 'traditional', levels: 1, timeframe: 'year' },
  ],
  oracles: {
    oak: {
      note: 'given the prices of the previous week or month; its own levels beyond these are not those of TradingView',
      takes: (p) => oakLevels[p.type] >= p.levels,
      run: (b, p) => {
        const a = aggregate(b, unitOf(b, p));
        const levels = oak.pivot_point_levels(oakNames[p.type], a.anchor, false, a.high, a.low, a.close, b.open);
        return Object.fromEntries(labels.slice(0, 1 + 2 * p.levels).map((t, i) => [t, levels[i]]));
      },
    },
    pine: { run: (b, p) => pine(b, script(b, p)) },
  },
};
