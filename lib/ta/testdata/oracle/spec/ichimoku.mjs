import { real } from '../lib/talib.mjs';
import { ta as oak, each, shift } from '../lib/oak.mjs';

const lines = (b, p, highest, lowest) => {
  const mid = (n) => each((h, l) => (h + l) / 2, highest(b.high, n), lowest(b.low, n));
  const [tenkan, kijun, base] = [mid(p.tenkan), mid(p.kijun), mid(p.senkou_b)];
  return {
    Tenkan: tenkan,
    Kijun: kijun,
    'Senkou A': shift(
      each((t, k) => (t + k) / 2, tenkan, kijun),
      p.displacement - 1,
    ),
    'Senkou B': shift(base, p.displacement - 1),
    Chikou: shift(b.close, 1 - p.displacement),
  };
};

export default {
  indicator: 'ichimoku',
  variants: [
    { tenkan: 9, kijun: 26, senkou_b: 52, displacement: 26 },
    { tenkan: 7, kijun: 22, senkou_b: 44, displacement: 22 },
  ],
  edges: [
    { tenkan: 1, kijun: 2, senkou_b: 3, displacement: 1 },
    { tenkan: 20, kijun: 60, senkou_b: 120, displacement: 30 },
  ],
  oracles: {
    talib: {
      run: (b, p) =>
        lines(
          b,
          p,
          (s, n) => real('MAX', s, n),
          (s, n) => real('MIN', s, n),
        ),
    },
    oak: {
      run: (b, p) => {
        const [tenkan, kijun, a, bb, chikou] = oak.ichimoku(p.tenkan, p.kijun, p.senkou_b, p.displacement - 1, b.high, b.low, b.close);
        return { Tenkan: tenkan, Kijun: kijun, 'Senkou A': a, 'Senkou B': bb, Chikou: chikou };
      },
    },
  },
};
