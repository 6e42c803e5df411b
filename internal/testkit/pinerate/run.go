package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta/elementary"
)

// wave returns bars of an hour with trends, noise, gaps and changing volume.
func wave(n int) []market.Bar {
	bars := make([]market.Bar, n)
	last := 100.0
	for i := range bars {
		x := float64(i)
		next := 100 + float64(20*elementary.Sin(x/40)) + float64(6*elementary.Sin(x/7)) + float64(2*elementary.Sin(x*1.7))
		bars[i] = market.Bar{
			T: 1_704_067_200 + int64(i)*3600, O: last, H: max(last, next) + 0.5 + float64(0.4*elementary.Sin(x*3.1)), L: min(last, next) - 0.5 - float64(0.4*elementary.Cos(x*2.3)), C: next,
			V: 1000 + float64(400*elementary.Sin(x/5)) + float64(100*elementary.Cos(x*1.3)), TakerBuy: math.NaN(),
		}
		last = next
	}
	return bars
}

// besides gives a script the bars of any symbol and interval that it requests.
func besides(n int) func(eval.Frame) (*eval.Outside, error) {
	return func(f eval.Frame) (*eval.Outside, error) {
		all := market.MakeBars(0, false)
		step := f.Interval.Seconds()
		for i, b := range wave(int(min(int64(n)*3600/max(step, 60), 20_000))) {
			b.T = 1_704_067_200 + int64(i)*step
			all.Append(b)
		}
		return &eval.Outside{Bars: &all}, nil
	}
}

// runError runs a script over bars and returns where and why it fails.
func runError(s script, libraries finder, bars []market.Bar) (at check.Diagnostic, failed bool) {
	p, _ := check.Check(s.source, check.Options{Library: libraries})
	if p == nil {
		return check.Diagnostic{}, false
	}
	err := runOver(p, bars, func(*eval.Machine) {})
	if err == nil {
		return check.Diagnostic{}, false
	}
	if e, ok := errors.AsType[*eval.Error](err); ok {
		return check.Diagnostic{Line: e.Line, Column: e.Column, Code: e.Code, Message: e.Message}, true
	}
	return check.Diagnostic{Code: eval.CodeRuntime, Message: err.Error()}, true
}

// environment is what scripts run in.
func environment(bars int) eval.Env {
	return eval.Env{
		Interval: market.Hour1, Outside: besides(bars),
		Symbol: eval.Symbol{Ticker: "BTCUSDT", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "BTC", Tick: 0.01},
	}
}

// runOver runs a script and calls each after every bar. The last bar is tried as the newest.
func runOver(p *check.Program, bars []market.Bar, each func(*eval.Machine)) error {
	m, err := eval.New(p, environment(len(bars)))
	for i := 0; err == nil && i < len(bars); i++ {
		if i == len(bars)-1 {
			err = m.Try(bars[i], true, true)
		} else {
			err = m.Keep(bars[i])
		}
		if err == nil {
			each(m)
		}
	}
	return err
}

// digests prints a digest of all values that each script plots, and one of all of them: the
// same on every processor.
func digests(out io.Writer, all []script, libraries finder, bars []market.Bar) {
	total := sha256.New()
	count := 0
	for _, s := range all {
		p, _ := check.Check(s.source, check.Options{Library: libraries})
		if p == nil {
			continue
		}
		h := sha256.New()
		err := runOver(p, bars, func(m *eval.Machine) {
			for _, o := range m.Outputs() {
				for _, v := range o.Values {
					if math.IsNaN(v) {
						v = math.NaN()
					}
					_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v))
				}
			}
			_ = binary.Write(h, binary.LittleEndian, int64(len(m.Drawings())))
		})
		count++
		fmt.Fprintf(out, "%x  %s  %v\n", h.Sum(nil)[:8], s.path, err)
		fmt.Fprintf(total, "%x %v\n", h.Sum(nil), err)
	}
	fmt.Fprintf(out, "%x  all %d scripts\n", total.Sum(nil)[:8], count)
}
