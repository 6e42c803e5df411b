package alert_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
	"candela/lib/ta"
)

const (
	million  = 1_000_000
	tickers  = 1_000
	sets     = 50
	onSignal = 100_000
)

// fill puts n price alerts over the symbols into the index, half of them above
// 100 and half below. The limit per owner does not bind Add; a hundred owners
// are what a shared node would have.
func fill(tb testing.TB, b *alert.Index, symbols []market.Symbol, n int, change func(*alert.Alert)) {
	tb.Helper()
	for i := range n {
		symbol := symbols[i%len(symbols)]
		a := alert.Alert{
			ID: id.New(start), Owner: principal.Owner("owner-" + strconv.Itoa(i%100)), Symbol: market.Symbol{Name: symbol.Name}, Instrument: symbol,
			Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(int64(10_001+i/len(symbols)), -2)}, Created: start,
		}
		if i/len(symbols)%2 == 1 {
			a.Condition.Type, a.Condition.Threshold = alert.PriceBelow, decimal.New(int64(9_999-i/len(symbols)), -2)
		}
		if change != nil {
			change(&a)
		}
		if err := b.Add(a); err != nil {
			tb.Fatal(err)
		}
	}
}

func many() []market.Symbol {
	symbols := make([]market.Symbol, tickers)
	for i := range symbols {
		symbols[i] = market.Symbol{Venue: "binance", Name: fmt.Sprintf("COIN%dUSDT", i)}
	}
	return symbols
}

// TestFirePrice_CostOfATickAmongAllKinds takes the same measure among alerts of many kinds.
func TestFirePrice_CostOfATickAmongAllKinds(t *testing.T) { //nolint:paralleltest // it measures
	const n = 50 * tickers
	measureTicks(t, n, mixed())
}

// TestFirePrice_CostOfATick takes the best of many rounds, because other work on the
// machine can only add to it. Where there is much of that, it takes more rounds.
func TestFirePrice_CostOfATick(t *testing.T) { //nolint:paralleltest // it measures
	n := million
	if raceDetector {
		n = tickers // it multiplies the time to fill the index, and what is measured
	}
	measureTicks(t, n, nil)
}

func measureTicks(t *testing.T, n int, change func(*alert.Alert)) {
	t.Helper()
	index, symbols := alert.NewIndex(), many()
	fill(t, index, symbols, n, change)
	next, best := visits(symbols), time.Hour
	var buf []alert.Firing
	const most = 300 * time.Nanosecond
	end := time.Now().Add(time.Minute)
	for round := 0; round < 200 || best > most && !raceDetector && time.Now().Before(end); round++ {
		began := time.Now()
		for range tickers {
			buf = index.FirePrice(buf, next(), 100, 100, 100, start)
		}
		best = min(best, time.Since(began)/tickers)
	}
	if len(buf) != 0 {
		t.Fatal("something fired")
	}
	t.Logf("a tick that fires none of %d alerts over %d symbols takes %v", n, tickers, best)
	if best > most && !raceDetector {
		t.Errorf("takes %v, want at most %v", best, most)
	}
}

// BenchmarkIndex_TickNothing is a tick that fires none of a million alerts over a
// thousand symbols, which come in random order. The floor finds the same symbols
// in a map and does no more. It also reports the heap that an alert takes.
func BenchmarkIndex_TickNothing(b *testing.B) {
	before := heap()
	index, symbols := alert.NewIndex(), many()
	fill(b, index, symbols, million, nil)
	perAlert := float64(heap()-before) / million
	next := visits(symbols)
	b.Run("tick", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]alert.Firing, 0, 1)
		for b.Loop() {
			buf = index.FirePrice(buf[:0], next(), 100, 100, 100, start)
		}
		b.ReportMetric(perAlert, "B/alert")
		if len(buf) != 0 || index.Len() != million {
			b.Fatal("something fired")
		}
	})
	b.Run("floor-lookup", func(b *testing.B) {
		b.ReportAllocs()
		known := make(map[alert.Dependency]*market.Symbol)
		for i := range symbols {
			known[alert.Dependency{Instrument: symbols[i]}] = &symbols[i]
		}
		for b.Loop() {
			if known[alert.Dependency{Instrument: next()}] == nil {
				b.Fatal("not found")
			}
		}
	})
}

// mixed makes alerts of many kinds: prices that fire once and repeatedly, crossings, values
// at the close and on ticks, compounds and new highs.
func mixed() func(*alert.Alert) {
	i := 0
	return func(a *alert.Alert) {
		limit := a.Condition.Threshold
		onBars := func(c alert.Condition) { a.Interval, a.Condition = market.Hour1, c }
		switch i++; i / tickers % 8 {
		case 2, 3:
			a.Repeat = alert.Repeat{MaxFires: 10, Cooldown: time.Hour}
		case 4:
			a.State.Side = -1
			if a.Condition.Type == alert.PriceBelow {
				a.State.Side = 1
			}
			a.Condition.Type = alert.PriceCrosses
		case 5:
			onBars(alert.Condition{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.Greater, Right: alert.Operand{Number: limit}})
		case 6:
			onBars(alert.Condition{Type: alert.Value, Left: alert.Operand{Indicator: "rsi", Line: "RSI"}, Op: alert.CrossesAbove, Right: alert.Operand{Number: limit}})
		case 7:
			onBars(alert.Condition{Type: alert.NewHigh, Bars: 20})
		}
	}
}

// BenchmarkIndex_TickNothingMixed is BenchmarkIndex_TickNothing among alerts of many kinds.
func BenchmarkIndex_TickNothingMixed(b *testing.B) {
	before, began := heap(), time.Now()
	index, symbols := alert.NewIndex(), many()
	fill(b, index, symbols, million, mixed())
	perAlert, perAdd := float64(heap()-before)/million, time.Since(began)/million
	next := visits(symbols)
	b.Run("tick", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]alert.Firing, 0, 1)
		for b.Loop() {
			buf = index.FirePrice(buf[:0], next(), 100, 100, 100, start)
		}
		b.ReportMetric(perAlert, "B/alert")
		b.ReportMetric(float64(perAdd), "ns/add")
		if len(buf) != 0 || index.Len() != million {
			b.Fatal("something fired")
		}
	})
	b.Run("close", func(b *testing.B) {
		b.ReportAllocs()
		n := alert.Dependency{Instrument: symbols[0], Interval: market.Hour1}
		row := alert.Row{Values: []float64{50, 50, 50, 50}, Prev: []float64{50, 50, 50, 50}}
		var buf []alert.Firing
		bar := market.Bar{T: start.Unix(), O: 1, H: 1, L: 1, C: 1}
		for b.Loop() {
			for g := range index.Groups(n) {
				index.SetRow(n, g.Key, row, start.Add(time.Hour))
			}
			buf = index.FireClose(buf[:0], n, bar, bar, start.Add(time.Hour), false)
		}
		if len(buf) != 0 {
			b.Fatal("something fired")
		}
	})
}

// visits returns a function that goes round the symbols in a random order.
func visits(symbols []market.Symbol) func() market.Symbol {
	order, i := make([]market.Symbol, 1<<16), 0
	random := rand.New(rand.NewPCG(1, 2))
	for i := range order {
		order[i] = symbols[random.IntN(len(symbols))]
	}
	return func() market.Symbol {
		i++
		return order[i%len(order)]
	}
}

// BenchmarkIndex_TickFires is a tick that fires one alert of n on one symbol, with
// settling it and setting it again a little higher, so that n stays. What grows
// with n is logarithmic.
func BenchmarkIndex_TickFires(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, million} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			index := alert.NewIndex()
			for i := range n {
				a := price(alert.PriceAbove, "0")
				a.Condition.Threshold = decimal.New(int64(i), 0)
				if err := index.Add(a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			buf, at := make([]alert.Firing, 0, 1), 0
			for b.Loop() {
				if buf = index.FirePrice(buf[:0], btc, math.MaxFloat64, float64(at), float64(at), start); len(buf) != 1 {
					b.Fatalf("%d fired", len(buf))
				}
				a := buf[0].Alert
				index.RemoveFired(a.ID)
				a.Condition.Threshold = decimal.New(int64(at+n), 0)
				if err := index.Add(a); err != nil {
					b.Fatal(err)
				}
				at++
			}
		})
	}
}

// signals is an index with alerts on the 4h bars of one instrument over 50
// parameter sets of RSI, and a stream for each set, as the engine keeps them.
type signals struct {
	index     *alert.Index
	need      alert.Dependency
	streams   map[string]*ta.Stream
	names     map[string]string // of the parameter set of each alert
	evaluated int
}

func newSignals(tb testing.TB, n int) *signals {
	tb.Helper()
	s := &signals{index: alert.NewIndex(), need: alert.Dependency{Instrument: btc, Interval: market.Hour4}, streams: make(map[string]*ta.Stream), names: make(map[string]string)}
	for i := range sets {
		selection, err := ta.Resolve(ta.Request{Name: "rsi", Params: map[string]json.RawMessage{"length": json.RawMessage(strconv.Itoa(i + 2))}})
		if err != nil {
			tb.Fatal(err)
		}
		s.index.Define("rsi-"+strconv.Itoa(i), selection)
		s.streams[selection.Key()] = selection.Stream(ta.Env{Interval: market.Hour4})
	}
	for i := range n {
		a := signal("rsi-"+strconv.Itoa(i%sets), rsiSignals()[i/sets%2])
		a.Owner = principal.Owner("owner-" + strconv.Itoa(i%100))
		s.names[a.ID] = a.Condition.Indicator
		if err := s.index.Add(a); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

func rsiSignals() []string { return []string{"rsi_oversold", "rsi_overbought"} }

// close is what the engine does when a bar closes.
func (s *signals) close(dst []alert.Firing, bar market.Bar) []alert.Firing {
	closed := time.Unix(bar.T+market.Hour4.Seconds(), 0)
	for g := range s.index.Groups(s.need) {
		row := s.streams[g.Key].Step(bar)
		s.evaluated++
		for _, found := range row.Signals {
			dst = s.index.FireSignal(dst, s.need, g.Key, ta.Signal{Label: found.Label, Y: found.Y}, closed, false)
		}
	}
	return dst
}

// walk returns a random bar after each call, or the same price again and again.
func walk(moves bool) func() market.Bar {
	random, at, t := rand.New(rand.NewPCG(3, 4)), 100.0, start.Unix()
	return func() market.Bar {
		if moves {
			at *= math.Exp(random.NormFloat64() / 50)
		}
		t += market.Hour4.Seconds()
		return market.Bar{T: t, O: at, H: at, L: at, C: at, V: 1}
	}
}

func TestSignals_OneEvaluationServesAll(t *testing.T) {
	t.Parallel()
	many := longtest.Pick(20_000, onSignal)
	s := newSignals(t, many)
	next, bars := walk(true), 0
	fired := make(map[string]bool)
	for ; s.index.Len() > many/2 && bars < 10_000; bars++ {
		groups := 0
		for range s.index.Groups(s.need) {
			groups++
		}
		before := s.evaluated
		for _, f := range s.close(nil, next()) {
			if fired[f.ID] {
				t.Fatalf("%s fired twice", f.ID)
			}
			fired[f.ID] = true
			s.index.RemoveFired(f.ID)
		}
		if bars == 0 && groups != sets {
			t.Fatalf("%d groups, want %d", groups, sets)
		}
		if got := s.evaluated - before; got != groups || got > sets {
			t.Fatalf("bar %d cost %d evaluations of %d groups", bars, got, groups)
		}
	}
	if len(fired) < many/2 || len(fired)+s.index.Len() != many {
		t.Errorf("%d fired and %d wait after %d bars", len(fired), s.index.Len(), bars)
	}
}

// BenchmarkIndex_Signals is a closed bar of an instrument that 100,000 alerts over
// 50 parameter sets wait on. Quiet bars confirm nothing and cost the evaluations
// alone, which the floor does without an index. On the others what fires is settled
// and set again.
func BenchmarkIndex_Signals(b *testing.B) {
	b.Run("quiet", func(b *testing.B) {
		s, next := newSignals(b, onSignal), walk(false)
		b.ReportAllocs()
		var buf []alert.Firing
		for b.Loop() {
			if buf = s.close(buf[:0], next()); len(buf) != 0 {
				b.Fatal("a bar that does not move fired")
			}
		}
		b.ReportMetric(float64(s.evaluated)/float64(b.N), "evaluations/bar")
	})
	b.Run("floor-steps", func(b *testing.B) {
		s, next := newSignals(b, sets), walk(false)
		b.ReportAllocs()
		for b.Loop() {
			bar := next()
			for _, stream := range s.streams {
				stream.Step(bar)
			}
		}
	})
	b.Run("moving", func(b *testing.B) {
		s, next := newSignals(b, onSignal), walk(true)
		var buf []alert.Firing
		fired := 0
		for b.Loop() {
			buf = s.close(buf[:0], next())
			for i := range buf {
				a := buf[i].Alert
				a.Condition.Indicator = s.names[a.ID]
				s.index.RemoveFired(a.ID)
				if err := s.index.Add(a); err != nil {
					b.Fatal(err)
				}
			}
			fired += len(buf)
		}
		b.ReportMetric(float64(s.evaluated)/float64(b.N), "evaluations/bar")
		b.ReportMetric(float64(fired)/float64(b.N), "fired/bar")
	})
}

// BenchmarkIndex_Memory reports the heap that an alert takes which has all that
// one can have: a moment to expire at, and a note whose text is its own.
func BenchmarkIndex_Memory(b *testing.B) {
	const n = million / 4
	symbols := many()
	for b.Loop() {
		before := heap()
		index := alert.NewIndex()
		fill(b, index, symbols, n, func(a *alert.Alert) {
			a.Expires, a.Note = start.Add(time.Hour), "sell half at "+a.Condition.Threshold.String()
		})
		b.ReportMetric(float64(heap()-before)/n, "B/alert")
		runtime.KeepAlive(index)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkFiring_AppendJSON writes the record beside what encoding/json needs
// for a struct of the same fields.
func BenchmarkFiring_AppendJSON(b *testing.B) {
	f := alert.Firing{Alert: price(alert.PriceAbove, "64123.45"), Value: 64123.5, At: start}
	f.Note = "take profit"
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf = f.AppendJSON(buf[:0])
		}
	})
	b.Run("floor-encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		r := record{
			AlertID: f.ID, Symbol: f.Symbol.String(), Condition: recordCondition{Type: "price_above", Threshold: &f.Condition.Threshold},
			Value: f.Value, TriggeredAt: "2023-11-14T22:13:20.000Z", Note: f.Note,
		}
		for b.Loop() {
			if _, err := json.Marshal(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
