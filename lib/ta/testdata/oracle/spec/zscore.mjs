import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'zscore',
  variants: [
    { length: 20 },
    { length: 5, source: 'hl2' },
  ],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: (b, p) =>
        pine(
          b,
          `src = ${p.source ?? 'close'}
plot((src - ta.sma(src, ${p.length})) / ta.stdev(src, ${p.length}), "Z")`,
        ),
    },
  },
};
