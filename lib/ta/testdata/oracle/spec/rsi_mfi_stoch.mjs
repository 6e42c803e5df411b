import { ta as talib, real, hlc, hlcv } from '../lib/talib.mjs';
import { ta as oak, late } from '../lib/oak.mjs';
import { flowIndex, until } from './mfi.mjs';

export default {
  indicator: 'rsi_mfi_stoch',
  variants: [{ rsi_length: 14, mfi_length: 14, stoch_k: 14, stoch_d: 3, stoch_smooth: 3 }],
  oracles: {
    oak: {
      until,
      run: (b, p) => {
        const k = late(oak.sma, oak.stoch(b.close, b.high, b.low, p.stoch_k), p.stoch_smooth);
        return {
          RSI: oak.rsi(b.close, p.rsi_length),
          MFI: flowIndex(b, p.mfi_length),
          'Stoch K': k,
          'Stoch D': late(oak.sma, k, p.stoch_d),
        };
      },
    },
    talib: {
      until,
      from: (p) => p.stoch_k + p.stoch_smooth + p.stoch_d - 3,
      run: (b, p) => {
        const r = talib('STOCH', hlc(b), {
          optInFastK_Period: p.stoch_k,
          optInSlowK_Period: p.stoch_smooth,
          optInSlowK_MAType: 0,
          optInSlowD_Period: p.stoch_d,
          optInSlowD_MAType: 0,
        });
        return {
          RSI: real('RSI', b.close, p.rsi_length),
          MFI: talib('MFI', hlcv(b), { optInTimePeriod: p.mfi_length }).outReal,
          'Stoch K': r.outSlowK,
          'Stoch D': r.outSlowD,
        };
      },
      skip: { flat: 'other values where nothing moves', zerovolume: 'gives 0 where nothing flows' },
    },
  },
};
