package binance_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/venuetest"
	"candela/internal/data/upstream"
	venue "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
	"candela/lib/market"
)

func perpetual() market.Symbol { return market.Symbol{Venue: "binance", Name: "BTCUSDT.P"} }

// TestPerpetual_KeepsTheContract holds that perpetual futures have bars as spot pairs do.
func TestPerpetual_KeepsTheContract(t *testing.T) {
	network, stop := venuetest.Serve(venue.New(venue.Config{Seed: 1}))
	defer stop()
	providertest.Run(t, providertest.Target{
		New:    func(testing.TB) provider.Provider { return connect(upstream.NewHosts(network.Dial)) },
		Symbol: perpetual(), Interval: market.Hour1, From: 1717200000, To: 1717200000 + 60*3600,
		Unknown: market.Symbol{Name: "NOSUCH.P"},
	})
}

// TestPerpetual_IsAnotherInstrument holds that a perpetual has rules and prices of its own, however its pair is
// spelled, that futures which end are not offered, and that the list of all is asked for once.
func TestPerpetual_IsAnotherInstrument(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		for _, spelled := range []string{"BTCUSDT.P", "BTC/USDT.P", "BTC-USDT.P"} {
			inst, err := p.Instrument(t.Context(), market.Symbol{Name: spelled})
			if err != nil || inst.Symbol != perpetual() || inst.Class != provider.Perpetual || inst.Base != "BTC" || inst.Quote != "USDT" || inst.Settle != "USDT" {
				t.Errorf("%s is %+v, %v", spelled, inst, err)
			}
			if got := []string{inst.Tick.String(), inst.Step.String(), inst.MinNotional.String(), inst.MaxMarket.String()}; got[0] != "0.1" || got[1] != "0.001" || got[2] != "100" || got[3] != "120" {
				t.Errorf("the rules are %v", got)
			}
		}
		if _, err := p.Instrument(t.Context(), market.Symbol{Name: "ETHUSDT.P"}); err != nil {
			t.Error(err)
		}
		if asked := s.Asked(); asked != 1 {
			t.Errorf("the list was asked for %d times", asked)
		}
		for _, none := range []string{"BTCUSDT_270326", "BTCUSDT_270326.P", "ETHBTC.P"} {
			if _, err := p.Instrument(t.Context(), market.Symbol{Name: none}); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", none, err)
			}
		}
		closes := map[market.Symbol]float64{}
		for _, symbol := range []market.Symbol{btc(), perpetual()} {
			page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: symbol, Interval: market.Hour1, Limit: 10})
			if err != nil || page.Bars.Len() != 10 {
				t.Fatalf("%v: %d bars, %v", symbol, page.Bars.Len(), err)
			}
			closes[symbol] = page.Bars.C[8]
		}
		if closes[btc()] == closes[perpetual()] {
			t.Error("the perpetual has the bars of the pair")
		}
	})
}

// TestPerpetual_Marks holds that each subscription of a perpetual future has its mark prices, as long as it stands, and that
// a pair has none.
func TestPerpetual_Marks(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		both := []provider.Sub{{Symbol: perpetual(), Interval: market.Minute1}, {Symbol: perpetual(), Interval: market.Hour1}}
		l := providertest.Listen(t.Context(), p, both[:1])
		wait := func(c provider.Change) (seen int) {
			l.Changes <- c
			synctest.Wait()
			seen = l.Seen()
			time.Sleep(time.Minute)
			synctest.Wait()
			return seen
		}
		time.Sleep(time.Minute)
		counts := []int{0, wait(provider.Change{Add: both[1:]}), wait(provider.Change{Drop: both[:1]}), wait(provider.Change{Drop: both[1:]})}
		events, _ := l.End()
		if err := providertest.CheckEvents(both, events); err != nil {
			t.Error(err)
		}
		for i, from := range counts {
			part, of := events[from:], map[provider.Sub]int{}
			if i < len(counts)-1 {
				part = events[from:counts[i+1]]
			}
			for _, e := range part {
				if e.Kind == provider.Marked {
					of[e.Sub]++
				}
			}
			if want := [][2]bool{{true, false}, {true, true}, {false, true}, {false, false}}[i]; want != [2]bool{of[both[0]] > 10, of[both[1]] > 10} {
				t.Errorf("phase %d: %d and %d marks", i, of[both[0]], of[both[1]])
			}
		}
		if _, ever := s.Feed.Connections(); ever != 1 {
			t.Errorf("%d connections", ever)
		}
	})
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		l := providertest.Listen(t.Context(), p, []provider.Sub{{Symbol: btc(), Interval: market.Minute1}})
		time.Sleep(time.Minute)
		events, _ := l.End()
		if slices.ContainsFunc(events, func(e provider.Event) bool { return e.Kind == provider.Marked }) {
			t.Error("a pair has marks")
		}
	})
}

// TestPerpetual_Funding holds that the funding rate of a pair and of its perpetual are the same series.
func TestPerpetual_Funding(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		now := time.Now().Unix()
		var read [2][]provider.Point
		for i, symbol := range []market.Symbol{btc(), perpetual()} {
			points, err := p.Series(t.Context(), provider.SeriesQuery{Name: "funding_rate", Symbol: symbol, Interval: market.Hour1, From: now - 10*86400, To: now})
			if err != nil || len(points) < 30 {
				t.Fatalf("%v: %d points, %v", symbol, len(points), err)
			}
			read[i] = points
		}
		for i := range read[0] {
			if read[0][i] != read[1][i] {
				t.Errorf("point %d is %v and %v", i, read[0][i], read[1][i])
			}
		}
	})
}

// TestPerpetual_StreamsWhatIsRead holds that live bars of perpetuals come from their own stream, each once, and
// that a stream carries symbols of one market alone.
func TestPerpetual_StreamsWhatIsRead(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{Seed: 3}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		futures := []provider.Sub{{Symbol: perpetual(), Interval: market.Minute1}, {Symbol: market.Symbol{Name: "ETHUSDT.P"}, Interval: market.Minute5}}
		venuetest.EmitsWhatIsRead(t, "perpetuals", p, futures, 1)
		l := providertest.Listen(t.Context(), p, append(futures, subs()...))
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := l.End(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a stream of both ends with %v", err)
		}
		of := p.Capabilities().Part
		if of(perpetual()) == of(btc()) || of(perpetual()) != of(futures[1].Symbol) {
			t.Error("the markets are not apart")
		}
	})
}
