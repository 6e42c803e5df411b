import { pine, signalled } from '../lib/pine.mjs';

export default {
  indicator: 'ut_bot',
  variants: [
    { length: 10, multiplier: 1 },
    { length: 5, multiplier: 2.5, source: 'hl2' },
  ],
  sets: ['ordinary', 'gap'],
  step: 2,
  oracles: {
    pine: {
      run: async (b, p) =>
        signalled(
          b,
          await pine(
            b,
            `src = ${p.source ?? 'close'}
loss = ${p.multiplier} * ta.atr(${p.length})
var float stop = na
float last = nz(stop, 0)
float before = nz(src[1], src)
bool both = src > last and before > last
bool neither = src < last and before < last
stop := both ? math.max(last, src - loss) : neither ? math.min(last, src + loss) : src > last ? src - loss : src + loss
plot(stop, "UT Stop")
above = ta.crossover(src, stop)
below = ta.crossunder(src, stop)
plot(src > stop and above ? 1 : 0, "buy")
plot(src < stop and below ? 1 : 0, "sell")`,
          ),
          { buy: 0, sell: 0 },
        ),
    },
  },
};
