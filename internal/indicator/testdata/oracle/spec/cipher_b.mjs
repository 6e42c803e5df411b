import { pine } from '../lib/pine.mjs';

import { wt } from './wavetrend.mjs';

export default {
  indicator: 'cipher_b',
  variants: [
    { wt_channel_length: 9, wt_average_length: 12 },
    { wt_channel_length: 10, wt_average_length: 21 },
  ],
  oracles: {
    pine: {
      run: (b, p) =>
        pine(
          b,
          `${wt(p.wt_channel_length, p.wt_average_length)}
plot(ta.rsi(close, 14), "RSI")
logRSI = ta.rsi(math.log(close), 14)
k = ta.sma(ta.stoch(logRSI, logRSI, logRSI, 14), 3)
plot(k, "Stoch K")
plot(ta.sma(k, 3), "Stoch D")
body = high == low ? 0.0 : (close - open) / (high - low) * 150
plot(ta.sma(body, 60) - 2.5, "MFI")`,
        ),
    },
  },
};
