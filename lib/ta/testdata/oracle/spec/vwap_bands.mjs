import { ta as oak, each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';
import { periods, runs } from '../lib/bars.mjs';

const bands = (mean, deviation, k) => ({
  'VWAP Upper': each((m, d) => m + k * d, mean, deviation),
  VWAP: mean,
  'VWAP Lower': each((m, d) => m - k * d, mean, deviation),
});

// deviations takes, at each bar, the weighted mean of the squares around the mean
// of that bar: quadratic, and without anything to cancel.
const deviations = (price, volume, mean) =>
  mean.map((m, i) => {
    const squares = price.slice(0, i + 1).map((x) => (x - m) * (x - m));
    return Math.sqrt(oak.vwap(squares, volume.slice(0, i + 1))[i]);
  });

export default {
  indicator: 'vwap_bands',
  variants: [
    { std_dev: 2, anchor: 'session' },
    { std_dev: 1, anchor: 'week' },
  ],
  oracles: {
    oak: {
      run: (b, p) => {
        const [mean, deviation] = [[], []];
        for (const [from, to] of runs(b, periods[p.anchor])) {
          const [price, volume] = [b.hlc3.slice(from, to), b.volume.slice(from, to)];
          const m = oak.vwap(price, volume);
          mean.push(...m);
          deviation.push(...deviations(price, volume, m));
        }
        return bands(mean, deviation, p.std_dev);
      },
    },
    pine: {
      takes: (p) => p.anchor === 'session',
      note: 'mean first and then squares around it, over all bars of the UTC day so far',
      run: (b, p) =>
        pine(
          b,
          `today = math.floor(time / 86400000)
var int back = 0
back := bar_index == 0 or today != today[1] ? 0 : back + 1
float weight = 0.0
float total = 0.0
for i = 0 to back
    weight := weight + volume[i]
    total := total + hlc3[i] * volume[i]
mean = total / weight
float squares = 0.0
for i = 0 to back
    squares := squares + volume[i] * (hlc3[i] - mean) * (hlc3[i] - mean)
width = ${p.std_dev} * math.sqrt(squares / weight)
plot(mean + width, "VWAP Upper")
plot(mean, "VWAP")
plot(mean - width, "VWAP Lower")`,
        ),
    },
  },
};
