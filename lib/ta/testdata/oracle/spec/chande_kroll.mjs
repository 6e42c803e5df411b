import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'chande_kroll',
  variants: [
    { length: 10, multiplier: 1, stop_length: 9 },
    { length: 5, multiplier: 2, stop_length: 4 },
  ],
  sets: ['ordinary', 'gap'],
  step: 3,
  oracles: {
    pine: {
      from: (p) => p.length + p.stop_length - 2, // its extremes begin before their window is full
      run: (b, p) =>
        pine(
          b,
          `width = ${p.multiplier} * ta.atr(${p.length})
upper = ta.highest(high, ${p.length}) - width
lower = ta.lowest(low, ${p.length}) + width
plot(ta.lowest(lower, ${p.stop_length}), "Stop Long")
plot(ta.highest(upper, ${p.stop_length}), "Stop Short")`,
        ),
    },
  },
};
