import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine, signalled } from '../lib/pine.mjs';

// Divergences as in TradingView's built-in indicator: pivots of five bars a side,
// whose confirmations are 6 to 61 bars apart. The RSI of an unchanged close is the
// same as before but for the last bit; rounding, as TradingView does, keeps that bit
// from making a pivot out of a plateau. A pivot needs all the bars of its sides.
const script = (p) => `rsi = ta.rsi(close, ${p.length})
plot(rsi, "RSI")
r = math.round(rsi, 9)
plot(rsi[1] < 30 and rsi >= 30 ? 1 : 0, "rsi_oversold")
plot(rsi[1] > 70 and rsi <= 70 ? 1 : 0, "rsi_overbought")
lowFound = not na(ta.pivotlow(r, 5, 5)) and not na(r[10])
highFound = not na(ta.pivothigh(r, 5, 5)) and not na(r[10])
sinceLow = ta.barssince(lowFound[1])
sinceHigh = ta.barssince(highFound[1])
rsiLow = ta.valuewhen(lowFound, r[5], 1)
priceLow = ta.valuewhen(lowFound, low[5], 1)
rsiHigh = ta.valuewhen(highFound, r[5], 1)
priceHigh = ta.valuewhen(highFound, high[5], 1)
bull = lowFound and sinceLow >= 5 and sinceLow <= 60 and r[5] > rsiLow and low[5] < priceLow
bear = highFound and sinceHigh >= 5 and sinceHigh <= 60 and r[5] < rsiHigh and high[5] > priceHigh
plot(bull ? 1 : 0, "rsi_bull_div")
plot(bear ? 1 : 0, "rsi_bear_div")`;

export default {
  indicator: 'rsi',
  variants: [{ length: 14, show_divergences: true }, { length: 14 }, { length: 7 }],
  edges: [{ length: 1 }, { length: 100 }],
  oracles: {
    talib: {
      run: (b, p) => ({ RSI: real('RSI', b.close, p.length) }),
      skip: { flat: 'gives 0 without any move; TradingView gives 100' },
    },
    tulip: {
      run: (b, p) => ({ RSI: ti('rsi', [b.close], [p.length])[0] }),
      skip: { flat: 'divides 0 by 0 without any move' },
    },
    oak: { run: (b, p) => ({ RSI: oak.rsi(b.close, p.length) }) },
    pine: {
      run: async (b, p) => {
        const all = signalled(b, await pine(b, script(p)), { rsi_oversold: 0, rsi_overbought: 0, rsi_bull_div: 5, rsi_bear_div: 5 });
        if (!p.show_divergences) all.signals = { ...all.signals, rsi_bull_div: [], rsi_bear_div: [] };
        return all;
      },
    },
  },
};
