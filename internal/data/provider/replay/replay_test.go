package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/replay"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const first = 1735689600 // 2025-01-01

// folder writes n hours of a symbol, with a hole at the tenth.
func folder(tb testing.TB, n int) *csv.Provider {
	tb.Helper()
	dir := tb.TempDir()
	var b strings.Builder
	b.WriteString("time,open,high,low,close,volume\n")
	for i := range n {
		if i != 10 {
			fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%d\n", first+i*3600, 100+i, 110+i, 90+i, 105+i, 1+i)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "BTCUSDT_1h.csv"), []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	p, err := csv.New(csv.Config{Dir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func play(tb testing.TB, n int, speed float64, start int64) *replay.Provider {
	tb.Helper()
	p, err := replay.New(replay.Config{Source: folder(tb, n), Start: time.Unix(start, 0), Speed: speed, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func btc(i market.Interval) provider.Sub {
	return provider.Sub{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: i}
}

func TestProvider_KeepsTheContract(t *testing.T) {
	providertest.Run(t, providertest.Target{
		New:    func(tb testing.TB) provider.Provider { tb.Helper(); return play(tb, 200, 1, first+100*3600+60) },
		Symbol: market.Symbol{Name: "BTCUSDT"}, Unknown: market.Symbol{Name: "NONE"}, Interval: market.Hour1,
		From: first, To: first + 90*3600,
	})
}

func TestBars_AreThoseThatHaveClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, 200, 60, first+20*3600+1800)
		defer p.Close() //nolint:errcheck // nothing was written
		newest := func() int64 {
			page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: market.Symbol{Venue: "replay", Name: "BTCUSDT"}, Interval: market.Hour1})
			if err != nil || page.Running {
				t.Fatalf("running %v, %v", page.Running, err)
			}
			return (page.Bars.T[page.Bars.Len()-1] - first) / 3600
		}
		if got := newest(); got != 19 {
			t.Errorf("bar %d is the newest at half past twenty", got)
		}
		time.Sleep(31 * time.Second) // an hour a minute
		if got := newest(); got != 20 {
			t.Errorf("bar %d is the newest at one past twenty-one", got)
		}
	})
}

func TestStream_PlaysEveryBarInItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, 60, 3600, first+5*3600+900)
		defer p.Close() //nolint:errcheck // nothing was written
		subs := []provider.Sub{btc(market.Hour1), btc(market.Hour4)}
		out, done := make(chan provider.Event), make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		start := time.Now()
		go func() {
			done <- p.Stream(ctx, subs, nil, providertest.Into(out))
			close(out)
		}()
		var events []provider.Event
		closed := map[market.Interval][]int64{}
		for e := range out {
			events = append(events, e)
			if e.Kind != provider.Closed {
				continue
			}
			hour := (e.Bar.T - first) / 3600
			closed[e.Interval] = append(closed[e.Interval], hour)
			due := time.Duration(e.Bar.T+e.Interval.Seconds()-first-5*3600-900) * time.Second / 3600
			if late := time.Since(start) - due; late < 0 || late > time.Millisecond {
				t.Errorf("%v %d came %v late", e.Interval, hour, late)
			}
		}
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ends with %v", err)
		}
		if err := providertest.CheckEvents(subs, events); err != nil {
			t.Error(err)
		}
		if h := closed[market.Hour1]; len(h) != 54 || h[0] != 5 || h[5] != 11 || h[53] != 59 {
			t.Errorf("hours %v", h)
		}
		if h := closed[market.Hour4]; len(h) != 14 || h[0] != 4 || h[13] != 56 {
			t.Errorf("four hours %v", h)
		}
	})
}

func TestNew_RefusesASpeedThatIsNone(t *testing.T) {
	t.Parallel()
	for _, speed := range []float64{0, -1, 1e9} {
		if _, err := replay.New(replay.Config{Speed: speed, Now: time.Now}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v: %v", speed, err)
		}
	}
}

// While a bar forms, its open is sent again, with the replay's time: it is the price
// there is.
func TestStream_ThePriceOfARunningBarStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, 60, 60, first+5*3600+1800) // an hour a minute
		defer p.Close()                         //nolint:errcheck // nothing was written
		out, done := make(chan provider.Event), make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		go func() {
			done <- p.Stream(ctx, []provider.Sub{btc(market.Hour1)}, nil, providertest.Into(out))
			close(out)
		}()
		var latest, newest time.Time
		for e := range out {
			if e.Kind != provider.Forming && e.Kind != provider.Closed {
				continue
			}
			if e.At.Before(newest) {
				t.Errorf("%v comes after %v", e.At, newest)
			}
			if silent := time.Since(latest); !latest.IsZero() && silent > 5*time.Second {
				t.Errorf("no price for %v", silent)
			}
			latest, newest = time.Now(), e.At
		}
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) || latest.IsZero() {
			t.Errorf("ends with %v", err)
		}
	})
}

// TestSeries_KnowsNothingOfWhatComes holds that a replay has the funding rates of the files that were known by its clock.
func TestSeries_KnowsNothingOfWhatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"BTCUSDT.P_1h.csv":      fmt.Sprintf("time,open,high,low,close,volume\n%d,1,1,1,1,1\n", first),
			"BTCUSDT.P_funding.csv": fmt.Sprintf("time,rate\n%d,0.0001\n%d,0.0002\n", first, first+8*3600),
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		files, err := csv.New(csv.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		p, err := replay.New(replay.Config{Source: files, Start: time.Unix(first+7*3600, 0), Speed: 60, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close() //nolint:errcheck // it only read
		for _, want := range []int{1, 2} {
			points, err := p.Series(t.Context(), provider.SeriesQuery{Name: "funding_rate", Symbol: market.Symbol{Venue: "replay", Name: "BTCUSDT.P"}, From: first, To: first + 86400})
			if err != nil || len(points) != want {
				t.Errorf("%d points, %v, want %d", len(points), err, want)
			}
			time.Sleep(2 * time.Minute) // two hours of the replay
		}
	})
}

// TestEnded says whether bars follow those that have closed by the replay's clock.
func TestEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := play(t, 30, 3600, first+27*3600)
		defer func() { _ = p.Close() }()
		var got []bool
		for range 4 {
			ended, err := p.Ended(t.Context(), market.Symbol{Venue: "replay", Name: "BTCUSDT"}, market.Hour1)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ended)
			time.Sleep(time.Second) // an hour there
		}
		if want := []bool{false, false, false, true}; !slices.Equal(got, want) {
			t.Errorf("ended %v, want %v", got, want)
		}
		if _, err := p.Ended(t.Context(), market.Symbol{Name: "NONE"}, market.Hour1); fault.Of(err) == nil {
			t.Errorf("an unknown symbol: %v", err)
		}
	})
}
