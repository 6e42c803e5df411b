import { pine } from '../lib/pine.mjs';

export default {
  indicator: 'heikin_ashi',
  variants: [{}],
  oracles: {
    pine: {
      run: (b) =>
        pine(
          b,
          `haClose = ohlc4
var float haOpen = na
haOpen := na(haOpen[1]) ? (open + close) / 2 : (haOpen[1] + haClose[1]) / 2
plot(haOpen, "HA Open")
plot(math.max(high, math.max(haOpen, haClose)), "HA High")
plot(math.min(low, math.min(haOpen, haClose)), "HA Low")
plot(haClose, "HA Close")`,
        ),
    },
  },
};
