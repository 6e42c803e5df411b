import { ta as talib } from '../lib/talib.mjs';
import { ta as oak } from '../lib/oak.mjs';
import { pine, signalled } from '../lib/pine.mjs';

const label = ([line, signal, hist]) => ({ MACD: line, Signal: signal, hist: { 0: hist } });

export default {
  indicator: 'macd',
  variants: [
    { fast: 12, slow: 26, signal: 9 },
    { fast: 5, slow: 13, signal: 4 },
  ],
  edges: [
    { fast: 1, slow: 2, signal: 1 },
    { fast: 26, slow: 12, signal: 9 },
  ],
  oracles: {
    talib: {
      seed: 'differs',
      note: 'the fast EMA begins where the slow one does, and all three lines begin with the signal',
      run: (b, p) => {
        const r = talib('MACD', { inReal: b.close }, { optInFastPeriod: p.fast, optInSlowPeriod: p.slow, optInSignalPeriod: p.signal });
        return label([r.outMACD, r.outMACDSignal, r.outMACDHist]);
      },
      skip: { flat: 'shorter than its start-up', one: 'no value either way' },
    },
    oak: { run: (b, p) => label(oak.macd(b.close, p.fast, p.slow, p.signal)) },
    pine: {
      run: async (b, p) => {
        const r = await pine(
          b,
          `[line, signal, hist] = ta.macd(close, ${p.fast}, ${p.slow}, ${p.signal})
plot(line, "MACD")
plot(signal, "Signal")
plot(hist, "hist")
up = ta.crossover(line, signal)
down = ta.crossunder(line, signal)
plot(up ? 1 : 0, "cross_up")
plot(down ? 1 : 0, "cross_down")`,
        );
        const { signals } = signalled(b, r, { cross_up: 0, cross_down: 0 });
        return { ...label([r.MACD, r.Signal, r.hist]), signals };
      },
    },
  },
};
