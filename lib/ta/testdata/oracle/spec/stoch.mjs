import { ta as talib, hlc } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak, late } from '../lib/oak.mjs';
import { pine, signalled } from '../lib/pine.mjs';

const noRange = 'a window without range is 0 there and no value on TradingView';

export default {
  indicator: 'stoch',
  variants: [
    { period: 14, k_smooth: 3, d_smooth: 3 },
    { period: 5, k_smooth: 1, d_smooth: 3 },
  ],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [
    { period: 2, k_smooth: 1, d_smooth: 1 },
    { period: 100, k_smooth: 5, d_smooth: 7 },
  ],
  oracles: {
    talib: {
      note: 'both lines begin where %D does',
      run: (b, p) => {
        const r = talib('STOCH', hlc(b), {
          optInFastK_Period: p.period,
          optInSlowK_Period: p.k_smooth,
          optInSlowK_MAType: 0,
          optInSlowD_Period: p.d_smooth,
          optInSlowD_MAType: 0,
        });
        return { '%K': r.outSlowK, '%D': r.outSlowD };
      },
      from: (p) => p.period + p.k_smooth + p.d_smooth - 3,
      skip: { flat: noRange },
    },
    tulip: {
      note: 'both lines begin where %D does',
      run: (b, p) => {
        const [k, d] = ti('stoch', [b.high, b.low, b.close], [p.period, p.k_smooth, p.d_smooth]);
        return { '%K': k, '%D': d };
      },
      from: (p) => p.period + p.k_smooth + p.d_smooth - 3,
      skip: { flat: noRange },
    },
    oak: {
      run: (b, p) => {
        const k = late(oak.sma, oak.stoch(b.close, b.high, b.low, p.period), p.k_smooth);
        return { '%K': k, '%D': late(oak.sma, k, p.d_smooth) };
      },
    },
    pine: {
      run: async (b, p) => {
        const plots = await pine(
          b,
          `k = ta.sma(ta.stoch(close, high, low, ${p.period}), ${p.k_smooth})
plot(k, "%K")
d = ta.sma(k, ${p.d_smooth})
plot(d, "%D")
up = ta.crossover(k, d)
down = ta.crossunder(k, d)
plot(up and k < 20 ? 1 : 0, "stoch_oversold")
plot(down and k > 80 ? 1 : 0, "stoch_overbought")`,
        );
        return signalled(b, plots, { stoch_oversold: 0, stoch_overbought: 0 });
      },
    },
  },
};
