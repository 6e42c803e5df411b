import { ta as talib, hlc } from '../lib/talib.mjs';
import { ta as oak, each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'adx',
  variants: [{ period: 14 }, { period: 7 }],
  edges: [{ period: 2 }, { period: 50 }],
  oracles: {
    talib: {
      seed: 'differs',
      note: 'sums the first n-1 bars where TradingView averages n',
      run: (b, p) => {
        const f = (name) => talib(name, hlc(b), { optInTimePeriod: p.period }).outReal;
        return { ADX: f('ADX'), '+DI': f('PLUS_DI'), '-DI': f('MINUS_DI') };
      },
      skip: { one: 'no value either way', flat: 'other values where nothing moves, and too few bars after it to forget them' },
    },
    oak: {
      note: "OakScript's own dmi counts bar 0, so its rma is applied to directional movement from bar 1 on",
      run: (b, p) => {
        const move = (fn) => b.high.map((h, i) => (i === 0 ? NaN : fn(h - b.high[i - 1], b.low[i - 1] - b.low[i])));
        const range = oak.rma(
          oak.tr(true, b.high, b.low, b.close).map((v, i) => (i === 0 ? NaN : v)),
          p.period,
        );
        const di = (dm) => each((d, r) => (100 * d) / r, oak.rma(dm, p.period), range);
        const plus = di(move((up, down) => (up > down && up > 0 ? up : 0)));
        const minus = di(move((up, down) => (down > up && down > 0 ? down : 0)));
        const dx = each((x, y) => (100 * Math.abs(x - y)) / (x + y === 0 ? 1 : x + y), plus, minus);
        return { ADX: oak.rma(dx, p.period), '+DI': plus, '-DI': minus };
      },
    },
    pine: {
      skip: { flat: 'gives 0 where nothing moves; TradingView divides 0 by 0 there' },
      run: (b, p) =>
        pine(
          b,
          `[plus, minus, adx] = ta.dmi(${p.period}, ${p.period})
plot(adx, "ADX")
plot(plus, "+DI")
plot(minus, "-DI")`,
        ),
    },
  },
};
