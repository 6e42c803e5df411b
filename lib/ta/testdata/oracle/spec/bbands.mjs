import { ta as talib } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

const label = ([mid, up, low]) => ({ 'BB Upper': up, 'BB Mid': mid, 'BB Lower': low });
const cancels = 'takes the variance from sums of squares, which cancel after a spike';

export default {
  indicator: 'bbands',
  variants: [
    { period: 20, std_dev: 2 },
    { period: 7, std_dev: 2.5 },
  ],
  edges: [
    { period: 1, std_dev: 2 },
    { period: 100, std_dev: 0.5 },
  ],
  oracles: {
    talib: {
      run: (b, p) => {
        const r = talib(
          'BBANDS',
          { inReal: b.close },
          { optInTimePeriod: p.period, optInNbDevUp: p.std_dev, optInNbDevDn: p.std_dev, optInMAType: 0 },
        );
        return label([r.outRealMiddleBand, r.outRealUpperBand, r.outRealLowerBand]);
      },
      skip: { spike: cancels, flat: cancels },
    },
    tulip: {
      run: (b, p) => {
        const [low, mid, up] = ti('bbands', [b.close], [p.period, p.std_dev]);
        return label([mid, up, low]);
      },
      skip: { spike: cancels, flat: cancels },
    },
    oak: { run: (b, p) => label(oak.bb(b.close, p.period, p.std_dev)) },
    pine: {
      run: (b, p) =>
        pine(
          b,
          `[mid, up, low] = ta.bb(close, ${p.period}, ${p.std_dev})
plot(mid, "BB Mid")
plot(up, "BB Upper")
plot(low, "BB Lower")`,
        ),
    },
  },
};
