import { ta as talib, hlcv } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak, each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const skip = {
  flat: 'gives a number where nothing flows, from what its rolling sums have left',
  zerovolume: 'gives a number where nothing flows, from what its rolling sums have left',
};

// Bars 2004 and 2005 of the long set have the same typical price, but for the last bit
// of (h + l + c) / 3, which all of them take for a change.
export const until = { long: 2005 };

// flowIndex is OakScript's index, less its 100 for a window in which nothing flows:
// TradingView divides 0 by 0 there and shows no value.
export function flowIndex(b, n) {
  const flow = b.hlc3.map((x, i) => (i > 0 && x !== b.hlc3[i - 1] ? x * b.volume[i] : 0));
  return each((index, f) => (f === 0 ? NaN : index), oak.mfi(b.hlc3, n, b.volume), oak.sma(flow, n));
}

export default {
  indicator: 'mfi',
  variants: [{ period: 14 }, { period: 5 }],
  edgeOracles: ['oak'], // the other keeps remainders in its rolling sums, or has 0 for 0 / 0
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: { run: (b, p) => ({ MFI: talib('MFI', hlcv(b), { optInTimePeriod: p.period }).outReal }), skip, until },
    tulip: { run: (b, p) => ({ MFI: ti('mfi', [b.high, b.low, b.close, b.volume], [p.period])[0] }), skip, until },
    oak: { run: (b, p) => ({ MFI: flowIndex(b, p.period) }), until },
    pine: {
      note: 'begins one bar early with a window that holds bar 0, which has no change',
      run: (b, p) => pine(b, `plot(ta.mfi(hlc3, ${p.period}), "MFI")`),
      from: (p) => p.period,
      skip,
      until,
    },
  },
};
