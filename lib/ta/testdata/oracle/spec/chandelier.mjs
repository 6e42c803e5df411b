import { pine, signalled } from '../lib/pine.mjs';

export default {
  indicator: 'chandelier',
  variants: [
    { length: 22, multiplier: 3 },
    { length: 5, multiplier: 1.5, use_close: false },
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
            `width = ${p.multiplier} * ta.atr(${p.length})
top = ${p.use_close === false ? 'high' : 'close'}
bottom = ${p.use_close === false ? 'low' : 'close'}
float long = ta.highest(top, ${p.length}) - width
float short = ta.lowest(bottom, ${p.length}) + width
var float lastLong = na
var float lastShort = na
var int dir = 1
float heldLong = nz(lastLong, long)
float heldShort = nz(lastShort, short)
long := close[1] > heldLong ? math.max(long, heldLong) : long
short := close[1] < heldShort ? math.min(short, heldShort) : short
int was = dir
dir := close > heldShort ? 1 : close < heldLong ? -1 : dir
lastLong := long
lastShort := short
plot(dir == 1 ? long : short, "Chandelier")
plot(dir == 1 and was == -1 ? 1 : 0, "flip_up")
plot(dir == -1 and was == 1 ? 1 : 0, "flip_down")`,
          ),
          { flip_up: 0, flip_down: 0 },
        ),
    },
  },
};
