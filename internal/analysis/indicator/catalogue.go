package indicator

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"candela/internal/kit/fault"
)

// list is the catalogue in the order that clients see. A new indicator is a file with
// its definition and a line here.
func list() []Def {
	return []Def{
		// overlays
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
		// panels
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
		// external
		cvd(),
		funding(),
		openInterest(),
		longShort(),
		fearGreed(),
	}
}

// labels returns the signal labels that an indicator may emit and an alert may use.
// Clients store them, so none is ever renamed or removed.
func labels() []string {
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
	}
}

//nolint:gochecknoglobals // the catalogue, built once and never written
var catalogue = sync.OnceValue(list)

// All returns the catalogue in a fixed order. The slice is shared: do not write to it.
func All() []Def { return catalogue() }

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
			Message: d.Name + " emits no signals, so no alert can wait for one; list_indicators shows which do",
		}
	}
	if near, advice := d.zone(label); advice != "" {
		e := fault.Field("condition.indicator_signal.signal", label, strings.Join(own, ", "), near...)
		e.Message += advice + ". " + d.Name + " has " + d.meanings()
		return e
	}
	near := fault.Nearest(label, own)
	if len(near) == 0 && slices.Contains(labels(), label) {
		return fault.Field("condition.indicator_signal.signal", label, fmt.Sprintf("a signal of %s: %s", d.Name, strings.Join(own, ", ")))
	}
	return fault.Field("condition.indicator_signal.signal", label, strings.Join(own, ", "), near...)
}
