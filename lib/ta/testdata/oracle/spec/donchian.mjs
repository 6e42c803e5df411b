import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { each } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const bands = (up, low) => ({ 'DC Upper': up, 'DC Mid': each((u, l) => (u + l) / 2, up, low), 'DC Lower': low });

export default {
  indicator: 'donchian',
  variants: [{ period: 20 }, { period: 5 }],
  edges: [{ period: 1 }, { period: 100 }],
  oracles: {
    talib: { run: (b, p) => bands(real('MAX', b.high, p.period), real('MIN', b.low, p.period)) },
    tulip: { run: (b, p) => bands(ti('max', [b.high], [p.period])[0], ti('min', [b.low], [p.period])[0]) },
    pine: {
      run: (b, p) =>
        pine(
          b,
          `up = ta.highest(high, ${p.period})
low_ = ta.lowest(low, ${p.period})
plot(up, "DC Upper")
plot(math.avg(up, low_), "DC Mid")
plot(low_, "DC Lower")`,
        ),
    },
  },
};
