import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'supertrend',
  variants: [
    { period: 10, multiplier: 3 },
    { period: 7, multiplier: 1.5 },
  ],
  edges: [
    { period: 1, multiplier: 0.5 },
    { period: 50, multiplier: 5 },
  ],
  oracles: {
    oak: {
      run: (b, p) => {
        const [line, direction] = oak.supertrend(p.multiplier, p.period, b.high, b.low, b.close);
        const flips = (to) => direction.flatMap((d, i) => (i > p.period - 1 && d === to && direction[i - 1] === -to ? [i] : []));
        return { Supertrend: line, signals: { flip_up: flips(-1), flip_down: flips(1) } };
      },
    },
    pine: {
      run: (b, p) =>
        pine(
          b,
          `[line, direction] = ta.supertrend(${p.multiplier}, ${p.period})
plot(line, "Supertrend")`,
        ),
    },
  },
};
