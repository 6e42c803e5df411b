package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// shelf is a provider with bars in memory, a small page and a count of calls.
type shelf struct {
	name      string
	synthetic bool
	page      int
	bars      market.Bars
	calls     int
	closed    bool
}

func newShelf(name string, synthetic bool, page, n int) *shelf {
	s := &shelf{name: name, synthetic: synthetic, page: page, bars: market.MakeBars(n, false)}
	for i := range n {
		c := 100 + float64(i%7)
		s.bars.Append(market.Bar{T: int64(i+1) * 4 * 3600, O: 100, H: 110, L: 90, C: c, V: 1})
	}
	return s
}

func (s *shelf) Name() string { return s.name }

func (s *shelf) Close() error {
	s.closed = true
	return nil
}

func (s *shelf) Capabilities() provider.Caps {
	return provider.Caps{Intervals: []market.Interval{market.Hour4}, PageSize: s.page, Synthetic: s.synthetic}
}

func (s *shelf) Instrument(_ context.Context, symbol market.Symbol) (provider.Instrument, error) {
	return provider.Instrument{Symbol: symbol}, nil
}

func (s *shelf) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	s.calls++
	q, err := s.Capabilities().Normalize(s.name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	page := q.PageFromAll(&s.bars, true)
	page.Synthetic = s.synthetic
	return page, ctx.Err()
}

// renderFunc is a charting.Renderer.
type renderFunc func(*chart.Spec) ([]byte, error)

func (f renderFunc) PNG(spec *chart.Spec) ([]byte, error) { return f(spec) }

// draw runs one chart over the shelves and returns what the renderer was given.
func draw(t *testing.T, stdout *bytes.Buffer, shelves []*shelf, args ...string) (*chart.Spec, error) {
	t.Helper()
	var drawn *chart.Spec
	deps := Deps{Stdout: stdout, Stderr: &bytes.Buffer{}, Services: Services{
		Venues: venuesOf(shelves...),
		Draw: renderFunc(func(p *chart.Spec) ([]byte, error) {
			drawn = p
			return []byte("png"), nil
		}),
	}}
	args = append(args, "--home", t.TempDir())
	return drawn, Run(t.Context(), configure(t, args...), deps)
}

func TestDrawOnce_PicksTheSource(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		symbol string
		bare   bool // only sample data is set up
		sample bool
		kind   fault.Kind // of the refusal
		want   string     // in the refusal
	}{
		"no symbol draws sample data":       {symbol: "", sample: true},
		"a symbol never gets sample data":   {symbol: "BTCUSDT", bare: true, kind: fault.NotFound, want: "--csv-dir"},
		"a symbol gets real data":           {symbol: "BTCUSDT"},
		"a venue is taken at its word":      {symbol: "csv:BTCUSDT"},
		"sample data by name":               {symbol: "sample:ANY", sample: true},
		"a venue that is not there":         {symbol: "scv:BTCUSDT", kind: fault.Invalid, want: `did you mean "csv"?`},
		"a venue that is not set up either": {symbol: "csv:BTCUSDT", bare: true, kind: fault.Invalid, want: "set up here: sample"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shelves := []*shelf{newShelf("sample", true, 100, 50)}
			if !tc.bare {
				shelves = append(shelves, newShelf("csv", false, 100, 50))
			}
			p, err := draw(t, new(bytes.Buffer), shelves, "--symbol="+tc.symbol, "--output=-")
			if tc.want != "" {
				if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error is %v, want %v with %q", err, tc.kind, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Sample != tc.sample {
				t.Errorf("sample is %v, want %v", p.Sample, tc.sample)
			}
		})
	}
}

func TestDrawOnce_FollowsPages(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		page, have int
		bars       string
		wantBars   int
		wantCalls  int
	}{
		"one page":               {100, 500, "50", 50, 1},
		"three pages and a rest": {100, 500, "350", 350, 4},
		"all there are":          {100, 120, "5000", 120, 2},
		"a page of one":          {1, 10, "7", 7, 7},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf("sample", true, tc.page, tc.have)
			p, err := draw(t, new(bytes.Buffer), []*shelf{s}, "--indicators=", "--bars", tc.bars, "--output=-")
			if err != nil {
				t.Fatal(err)
			}
			if !s.closed {
				t.Error("the source was not closed")
			}
			if p.Bars.Len() != tc.wantBars || s.calls != tc.wantCalls {
				t.Errorf("%d bars in %d calls, want %d in %d", p.Bars.Len(), s.calls, tc.wantBars, tc.wantCalls)
			}
			if err := p.Bars.Check(); err != nil {
				t.Error(err)
			}
			if last := p.Bars.T[p.Bars.Len()-1]; last != s.bars.T[tc.have-1] || !p.Forming {
				t.Errorf("the newest bar is %d, running %v", last, p.Forming)
			}
		})
	}
}

func TestDrawOnce_Indicators(t *testing.T) {
	t.Parallel()
	shelves := []*shelf{newShelf("sample", true, 500, 300)}
	p, err := draw(t, new(bytes.Buffer), shelves, "--indicators=rsi,MACD,rsi", "--output=-")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range p.Results {
		names = append(names, r.Name)
		if len(r.Result.Lines) == 0 || len(r.Result.Lines[0].Values) != p.Bars.Len() {
			t.Errorf("%s: %d lines, not one value per bar", r.Name, len(r.Result.Lines))
		}
	}
	if got := strings.Join(names, " "); got != "rsi MACD rsi" {
		t.Errorf("results are %s", got)
	}

	_, err = draw(t, new(bytes.Buffer), shelves, "--indicators=rsii,macd,nonsense", "--output=-")
	e, ok := errors.AsType[*config.Error](err)
	if !ok || len(e.Problems) != 2 || !strings.Contains(err.Error(), "rsi") {
		t.Errorf("error is %v, want both wrong names", err)
	}

	if p, err := draw(t, new(bytes.Buffer), shelves, "--indicators=", "--output=-"); err != nil || len(p.Results) != 0 {
		t.Errorf("an empty list draws the price alone: %v", err)
	}
}

func TestDrawOnce_Output(t *testing.T) {
	t.Parallel()
	shelves := func() []*shelf { return []*shelf{newShelf("sample", true, 500, 10)} }
	var stdout bytes.Buffer
	if _, err := draw(t, &stdout, shelves(), "--output=-"); err != nil || stdout.String() != "png" {
		t.Errorf("stdout is %q, error %v", &stdout, err)
	}
	stdout.Reset()
	path := filepath.Join(t.TempDir(), "x.png")
	if _, err := draw(t, &stdout, shelves(), "--output", path); err != nil || stdout.Len() > 0 {
		t.Errorf("stdout is %q, error %v", &stdout, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "png" {
		t.Errorf("file is %q, error %v", data, err)
	}
	if _, err := draw(t, &stdout, shelves(), "--output", filepath.Join(path, "below")); err == nil {
		t.Error("a path below a file was written")
	}
}

func TestDrawOnce_NothingToDraw(t *testing.T) {
	t.Parallel()
	_, err := draw(t, new(bytes.Buffer), []*shelf{newShelf("csv", false, 500, 0)}, "--symbol=BTCUSDT")
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "csv has no 4h bars of BTCUSDT") {
		t.Errorf("error is %v", err)
	}
	_, err = draw(t, new(bytes.Buffer), []*shelf{newShelf("csv", false, 500, 5)}, "--symbol=BTCUSDT", "--interval=1h")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "use an interval of csv: 4h") {
		t.Errorf("error is %v", err)
	}
	err = Run(t.Context(), configure(t, "--home", t.TempDir()), Deps{Stderr: &bytes.Buffer{}})
	if fault.KindOf(err) != fault.Unsupported {
		t.Errorf("error is %v", err)
	}
}
