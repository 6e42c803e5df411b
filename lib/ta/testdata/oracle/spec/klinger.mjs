import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'klinger',
  variants: [
    { fast: 34, slow: 55, signal: 13 },
    { fast: 5, slow: 10, signal: 4 },
  ],
  sets: ['ordinary', 'gap'],
  step: 3,
  oracles: {
    pine: {
      run: (b, p) =>
        pine(
          b,
          `signed = ta.change(hlc3) >= 0 ? volume : -volume
line = ta.ema(signed, ${p.fast}) - ta.ema(signed, ${p.slow})
plot(line, "KVO")
plot(ta.ema(line, ${p.signal}), "Signal")`,
        ),
    },
  },
};
