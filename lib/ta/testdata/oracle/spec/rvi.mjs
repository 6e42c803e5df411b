import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'rvi',
  variants: [
    { length: 10, ema_length: 14 },
    { length: 5, ema_length: 20, source: 'hl2' },
  ],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: (b, p) =>
        pine(
          b,
          `src = ${p.source ?? 'close'}
deviation = ta.stdev(src, ${p.length})
change = ta.change(src)
up = ta.ema(na(deviation) ? na : change <= 0 ? 0 : deviation, ${p.ema_length})
down = ta.ema(na(deviation) ? na : change > 0 ? 0 : deviation, ${p.ema_length})
plot(100 * up / (up + down), "RVI")`,
        ),
    },
  },
};
