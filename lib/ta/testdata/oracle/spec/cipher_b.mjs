import { pine, signalled } from '../lib/pine.mjs';
import { wt } from './wavetrend.mjs';

// Our own Pine after the public definition: waves, RSI, stochastic RSI of the log
// close, money flow area, dots on crosses and divergences at five-bar fractals.
const lines = `
rsi = ta.rsi(close, 14)
plot(rsi, "RSI")
logRSI = ta.rsi(math.log(close), 14)
k = ta.sma(ta.stoch(logRSI, logRSI, logRSI, 14), 3)
plot(k, "Stoch K")
plot(ta.sma(k, 3), "Stoch D")
body = high == low ? 0.0 : (close - open) / (high - low) * 150
plot(ta.sma(body, 60) - 2.5, "flow")`;

const dots = `
plot(up and wt2 <= -53 ? 1 : 0, "buy")
plot(up and not (wt2 <= -53) ? 1 : 0, "buy_small")
plot(down and wt2 >= 53 ? 1 : 0, "sell")
plot(down and not (wt2 >= 53) ? 1 : 0, "sell_small")`;

// A fractal counts only beyond its limit, and is compared with the one before it
// that did.
const divergences = `
isTop = wt2[4] < wt2[2] and wt2[3] < wt2[2] and wt2[2] > wt2[1] and wt2[2] > wt2
isBottom = wt2[4] > wt2[2] and wt2[3] > wt2[2] and wt2[2] < wt2[1] and wt2[2] < wt2
top1 = isTop and wt2[2] >= 45
top2 = isTop and wt2[2] >= 15
bottom1 = isBottom and wt2[2] <= -65
bottom2 = isBottom and wt2[2] <= -40
topWave1 = ta.valuewhen(top1, wt2[2], 0)
topHigh1 = ta.valuewhen(top1, high[2], 0)
topWave2 = ta.valuewhen(top2, wt2[2], 0)
topHigh2 = ta.valuewhen(top2, high[2], 0)
bottomWave1 = ta.valuewhen(bottom1, wt2[2], 0)
bottomLow1 = ta.valuewhen(bottom1, low[2], 0)
bottomRSI1 = ta.valuewhen(bottom1, rsi[2], 0)
bottomWave2 = ta.valuewhen(bottom2, wt2[2], 0)
bottomLow2 = ta.valuewhen(bottom2, low[2], 0)
bear1 = top1 and high[2] > topHigh1[2] and wt2[2] < topWave1[2]
bear2 = top2 and high[2] > topHigh2[2] and wt2[2] < topWave2[2]
bull1 = bottom1 and low[2] < bottomLow1[2] and wt2[2] > bottomWave1[2]
bull2 = bottom2 and low[2] < bottomLow2[2] and wt2[2] > bottomWave2[2]
gold = bull1 and bottomWave1[2] <= -75 and wt2 > -75 and bottomWave1[2] - wt2 <= -5 and bottomRSI1[2] < 30
plot(bear1 or bear2 ? 1 : 0, "wt_bear_div")
plot(bull1 or bull2 ? 1 : 0, "wt_bull_div")
plot(gold ? 1 : 0, "gold_buy")`;

const names = { buy: 0, buy_small: 0, sell: 0, sell_small: 0, wt_bear_div: 2, wt_bull_div: 2, gold_buy: 0 };

export default {
  indicator: 'cipher_b',
  variants: [
    { wt_channel_length: 9, wt_average_length: 12 },
    { wt_channel_length: 10, wt_average_length: 21 },
  ],
  oracles: {
    pine: {
      until: { flat: 170 },
      note: 'on the flat set the waves lose a digit every ten bars in which nothing moves',
      run: async (b, p) => {
        const plots = await pine(b, wt(p.wt_channel_length, p.wt_average_length) + lines + dots + divergences);
        const { flow, ...rest } = signalled(b, plots, names);
        return { ...rest, hist: { 0: flow } };
      },
    },
  },
};
