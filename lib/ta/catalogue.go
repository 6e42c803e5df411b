package ta

import (
	"fmt"
	"slices"
	"strings"

	"candela/lib/fault"
)

// list is the catalogue in the order that clients see. A new indicator is a file with
// its definition and a line in one of the lists below.
func list() []Def {
	return slices.Concat(
		overlays(), averages(), structures(), priceLevels(), candlesticks(),
		panels(), momentums(), volatilities(), volumes(), statistics(), cycles(),
		externals(),
	)
}

// overlays are drawn over the price.
func overlays() []Def {
	return []Def{
		emaStack(),
		bbands(),
		keltner(),
		donchian(),
		vwap(),
		vwapBands(),
		supertrend(),
		sar(),
		ichimoku(),
		heikinAshi(),
		pivot(),
		volumeProfile(),
		sessionVP(),
		hvnLVN(),
		nakedPOC(),
		tpo(),
	}
}

// averages are moving averages and what is made of them.
func averages() []Def {
	return []Def{
		ma(),
		maCross(),
		maRibbon(),
		envelope(),
		alligator(),
	}
}

// structures are swings, breaks of structure, gaps and trend lines.
func structures() []Def {
	return []Def{
		swings(),
		marketStructure(),
		sweeps(),
		fvg(),
		orderBlocks(),
		oscDivergence(),
		supportResistance(),
		zigzag(),
		williamsFractals(),
		trendlines(),
		linregChannel(),
		darvas(),
		gaps(),
		vixFix(),
	}
}

// priceLevels are prices that matter: of earlier sessions, ranges and anchors.
func priceLevels() []Def {
	return []Def{
		priorLevels(),
		anchoredVWAP(),
		openingRange(),
		sessionLevels(),
		autoFib(),
		roundLevels(),
	}
}

// candlesticks are the patterns of one to five candles.
func candlesticks() []Def {
	return []Def{
		candles(),
	}
}

// panels have a panel of their own.
func panels() []Def {
	return []Def{
		cipherB(),
		macd(),
		rsi(),
		waveTrend(),
		stoch(),
		atr(),
		obv(),
		cci(),
		roc(),
		mfi(),
		williamsR(),
		cmf(),
		adx(),
		ad(),
		histVol(),
		kalmanVolume(),
		rsiMFIStoch(),
	}
}

// momentums measure the speed and the direction of the price.
func momentums() []Def {
	return []Def{
		stochRSI(),
		squeeze(),
		ao(),
		aroon(),
		aroonOsc(),
		ppo(),
		momentum(),
		vortex(),
		trix(),
		cmo(),
		tsi(),
		ultimate(),
		accelerator(),
		elderRay(),
		tdSequential(),
		bop(),
		coppock(),
		kst(),
		fisher(),
		connorsRSI(),
		stc(),
		smi(),
		kdj(),
		rvgi(),
		dpo(),
		apo(),
		pmo(),
		adxr(),
		dx(),
		dm(),
		efficiency(),
		vhf(),
		qstick(),
		imi(),
		fosc(),
		rci(),
		cog(),
		psl(),
	}
}

// volatilities measure how far the price moves.
func volatilities() []Def {
	return []Def{
		natr(),
		adr(),
		bbPercent(),
		bbWidth(),
		chop(),
		chandelier(),
		utBot(),
		volatilityStop(),
		chandeKroll(),
		massIndex(),
		relativeVolatility(),
		stdev(),
		variance(),
		ulcer(),
		parkinson(),
		garmanKlass(),
		rogersSatchell(),
		yangZhang(),
		chaikinVolatility(),
		accbands(),
	}
}

// volumes measure what is traded.
func volumes() []Def {
	return []Def{
		volume(),
		relativeVolume(),
		pvo(),
		chaikinOscillator(),
		forceIndex(),
		easeOfMovement(),
		klinger(),
		priceVolumeTrend(),
		nvi(),
		pvi(),
		upDownVolume(),
		volumeDelta(),
		twap(),
		williamsAD(),
		marketFacilitation(),
	}
}

// statistics describe the distribution of prices and returns.
func statistics() []Def {
	return []Def{
		correlation(),
		beta(),
		zscore(),
		percentRank(),
		drawdown(),
		returns(),
		dist52w(),
		minmax(),
		linregSlope(),
		linregAngle(),
		linregIntercept(),
		timeSeriesForecast(),
		rSquared(),
		hurst(),
		midpoint(),
		midprice(),
		priceTypes(),
		medianPrice(),
		meanDeviation(),
		skew(),
		kurtosis(),
	}
}

// cycles measure the dominant cycle of the price.
func cycles() []Def {
	return []Def{
		mama(),
		htTrendline(),
		htDCPeriod(),
		htSine(),
		htDCPhase(),
		htPhasor(),
		htTrendMode(),
	}
}

// externals are computed from other series than bars.
func externals() []Def {
	return []Def{
		cvd(),
		funding(),
		openInterest(),
		longShort(),
		fearGreed(),
	}
}

// labels returns the signal labels that an indicator may emit and an alert may use.
// Clients store them, so none is ever renamed or removed.
func labels() []string { return append(patternLabels(), otherLabels()...) }

// otherLabels are the labels besides those of candle patterns.
func otherLabels() []string {
	return []string{
		"buy", "sell", "buy_small", "sell_small", "gold_buy",
		"buy_oversold", "sell_overbought",
		"rsi_oversold", "rsi_overbought", "stoch_oversold", "stoch_overbought",
		"wt_bull_div", "wt_bear_div", "rsi_bull_div", "rsi_bear_div",
		"stoch_bull_div", "stoch_bear_div", "any_bull_div", "any_bear_div",
		"cross_up_os", "cross_down_ob", "cross_up", "cross_down",
		"flip_up", "flip_down",
		"breakout_up", "breakout_down",
		"oversold_enter", "oversold_exit", "overbought_enter", "overbought_exit",
		"rsi_oversold_enter", "rsi_oversold_exit", "rsi_overbought_enter", "rsi_overbought_exit",
		// of two averages
		"golden_cross", "death_cross",
		// Structure and levels.
		"higher_high", "lower_high", "higher_low", "lower_low",
		"bos_up", "bos_down", "choch_up", "choch_down", "sweep_high", "sweep_low",
		"fvg_up", "fvg_down", "fvg_filled", "gap_up", "gap_down", "gap_filled", "ob_up", "ob_down",
		"fractal_up", "fractal_down", "bull_div", "bear_div", "hidden_bull_div", "hidden_bear_div",
		// squeeze, td_sequential
		"squeeze_on", "squeeze_off", "squeeze_fire_up", "squeeze_fire_down", "td_buy", "td_sell",
	}
}

// CheckSignal checks that the indicator emits the signal. The error names the labels
// it does emit.
func CheckSignal(d *Def, label string) error {
	if d.Emits(label) {
		return nil
	}
	own := d.Labels()
	if len(own) == 0 {
		return &fault.Error{
			Kind: fault.Invalid, Code: "no_signals", Field: "condition.indicator_signal.indicator", Value: d.Name,
			Message: d.Name + " emits no signals, so no alert can wait for one; list_indicators shows which do" + emitter(label),
		}
	}
	if near, advice := d.zone(label); advice != "" {
		e := fault.Field("condition.indicator_signal.signal", label, strings.Join(own, ", "), near...)
		e.Message += advice + ". " + d.Name + " has " + d.meanings()
		return e
	}
	near := fault.Nearest(label, own)
	if len(near) == 0 && slices.Contains(labels(), label) {
		e := fault.Field("condition.indicator_signal.signal", label, fmt.Sprintf("a signal of %s: %s", d.Name, strings.Join(own, ", ")))
		e.Message += emitter(label)
		return e
	}
	return fault.Field("condition.indicator_signal.signal", label, strings.Join(own, ", "), near...)
}

// emitter says which indicator has a signal, if one alone has it.
func emitter(label string) string {
	name := ""
	for i := range All() {
		d := &All()[i]
		if !d.Emits(label) {
			continue
		}
		if name != "" {
			return ""
		}
		name = d.Name
	}
	if name == "" {
		return ""
	}
	return ". Use " + name + ", signal " + label + "."
}
