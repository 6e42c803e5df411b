import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'chaikin_osc',
  variants: [
    { fast: 3, slow: 10 },
    { fast: 6, slow: 20 },
  ],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: (b, p) =>
        pine(
          b,
          `part = high == low ? 0.0 : (2 * close - low - high) / (high - low) * volume
total = ta.cum(part)
plot(ta.ema(total, ${p.fast}) - ta.ema(total, ${p.slow}), "CO")`,
        ),
    },
  },
};
