// The kernels themselves, which the indicators are made of. Not an indicator: the
// labels name a kernel and its length, read by the kernels' own test. TA-Lib and Tulip
// take a deviation from sums of squares, which cancel, so they are not asked for it.
import { real } from '../lib/talib.mjs';
import { ti } from '../lib/tulip.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'calc',
  sets: ['ordinary', 'long', 'gap', 'spike', 'one'],
  variants: [{}],
  oracles: {
    talib: {
      run: (b) => ({
        'SMA 20': real('SMA', b.close, 20),
        'EMA 20': real('EMA', b.close, 20),
        'WMA 20': real('WMA', b.close, 20),
        'MAX 14': real('MAX', b.close, 14),
        'MIN 14': real('MIN', b.close, 14),
        'SUM 20': real('SUM', b.close, 20),
        'LINREG 14': real('LINEARREG', b.close, 14),
      }),
    },
    tulip: {
      run: (b) => ({
        'SMA 20': ti('sma', [b.close], [20])[0],
        'RMA 14': ti('wilders', [b.close], [14])[0],
        'WMA 20': ti('wma', [b.close], [20])[0],
        'HMA 20': ti('hma', [b.close], [20])[0],
        'MAX 14': ti('max', [b.close], [14])[0],
        'MIN 14': ti('min', [b.close], [14])[0],
        'SUM 20': ti('sum', [b.close], [20])[0],
        'LINREG 14': ti('linreg', [b.close], [14])[0],
      }),
    },
    oak: {
      run: (b) => ({
        'SMA 20': oak.sma(b.close, 20),
        'EMA 20': oak.ema(b.close, 20),
        'RMA 14': oak.rma(b.close, 14),
        'WMA 20': oak.wma(b.close, 20),
        'HMA 20': oak.hma(b.close, 20),
        'DEVIATION 14': oak.stdev(b.close, 14),
        'MEANDEV 14': oak.dev(b.close, 14),
        'LINREG 14': oak.linreg(b.close, 14),
      }),
    },
    pine: {
      run: (b) =>
        pine(
          b,
          `plot(ta.sma(close, 20), "SMA 20")
plot(ta.ema(close, 20), "EMA 20")
plot(ta.rma(close, 14), "RMA 14")
plot(ta.wma(close, 20), "WMA 20")
plot(ta.hma(close, 20), "HMA 20")
plot(ta.stdev(close, 14), "DEVIATION 14")
plot(ta.dev(close, 14), "MEANDEV 14")
plot(math.sum(close, 20), "SUM 20")
plot(ta.linreg(close, 14, 0), "LINREG 14")`,
        ),
    },
  },
};
