import { ta as oak, each, late } from '../lib/oak.mjs';
import { pine, signalled } from '../lib/pine.mjs';

// The scale is the deviation over 200 bars, so shorter sets have no value.
const sets = ['ordinary', 'long', 'gap', 'spike', 'zerovolume', 'one'];

export default {
  indicator: 'kalman_volume',
  sets,
  variants: [
    { vzo_length: 70, k: 0.06, sig_length: 10 },
    { vzo_length: 20, k: 0.1, sig_length: 5 },
  ],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [{ vzo_length: 2, k: 1, sig_length: 1 }],
  oracles: {
    oak: {
      run: (b, p) => {
        const signed = b.volume.map((v, i) => (i < 2 || b.close[i] > b.close[i - 2] ? v : -v));
        const hull = (s) => late(oak.hma, s, p.vzo_length);
        const zone = each((s, v) => s / v, hull(signed), hull(b.volume));
        const z = each((x, d) => x / d, zone, late(oak.stdev, zone, 200));
        let m = 0;
        const kvf = z.map((x) => (Number.isFinite(x) ? (m = p.k * x + (1 - p.k) * m) : NaN));
        return { KVF: kvf, Signal: late(oak.sma, kvf, p.sig_length) };
      },
    },
    pine: {
      run: async (b, p) => {
        const plots = await pine(
          b,
          `signed = bar_index < 2 or close > close[2] ? volume : -volume
zone = ta.hma(signed, ${p.vzo_length}) / ta.hma(volume, ${p.vzo_length})
z = zone / ta.stdev(zone, 200)
var float state = 0.0
if not na(z)
    state := ${p.k} * z + (1 - ${p.k}) * state
kvf = na(z) ? na : state
line = ta.sma(kvf, ${p.sig_length})
up = ta.crossover(kvf, line)
down = ta.crossunder(kvf, line)
was = kvf[1]
plot(kvf, "KVF")
plot(line, "Signal")
plot(up and was < -0.6 ? 1 : 0, "buy_oversold")
plot(up and math.abs(was) < 0.6 ? 1 : 0, "buy")
plot(down and was > 0.6 ? 1 : 0, "sell_overbought")
plot(down and math.abs(was) < 0.6 ? 1 : 0, "sell")`,
        );
        return signalled(b, plots, { buy_oversold: 1, buy: 1, sell_overbought: 1, sell: 1 });
      },
    },
  },
};
