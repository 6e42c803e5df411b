package providertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// leastBars is how many bars a Target's range must have for paging to be worth
// checking.
const leastBars = 20

func (t Target) query() provider.BarQuery {
	return provider.BarQuery{Symbol: t.Symbol, Interval: t.Interval, From: t.From, To: t.To}
}

func capabilities(_ context.Context, p provider.Provider, t Target) error {
	caps := p.Capabilities()
	_, streams := p.(provider.Streamer)
	switch {
	case p.Name() == "" || p.Name() != strings.ToLower(p.Name()):
		return fmt.Errorf("name %q is not lower case", p.Name())
	case caps.PageSize < 1:
		return fmt.Errorf("page size is %d", caps.PageSize)
	case len(caps.Intervals) == 0 || !slices.IsSorted(caps.Intervals) || len(slices.Compact(slices.Clone(caps.Intervals))) != len(caps.Intervals):
		return fmt.Errorf("intervals are not ascending: %v", caps.Intervals)
	case slices.ContainsFunc(caps.Intervals, func(i market.Interval) bool { return !i.Valid() }):
		return fmt.Errorf("intervals are not valid: %v", caps.Intervals)
	case !caps.Has(t.Interval):
		return fmt.Errorf("the target's interval %v is not among %v", t.Interval, caps.Intervals)
	case caps.Live && !streams:
		return errors.New("claims to be live and is no Streamer")
	case caps.Dynamic && !caps.Live:
		return errors.New("claims to follow changes of a stream that it does not have")
	}
	return nil
}

// all reads the target's range page by page, joining forward or backward. It
// holds each page against what every page promises.
func all(ctx context.Context, p provider.Provider, q provider.BarQuery) (market.Bars, error) {
	var joined market.Bars
	forward := q.From != 0
	for range 10_000 {
		page, err := p.Bars(ctx, q)
		if err != nil {
			return joined, err
		}
		if err := soundPage(p, q, page); err != nil {
			return joined, err
		}
		first, second := joined, page.Bars
		if !forward {
			first, second = second, first
		}
		joined = join(first, second)
		if !page.More {
			return joined, nil
		}
		if next := q.Following(page); forward && next.From <= q.From || !forward && q.To != 0 && next.To >= q.To {
			return joined, fmt.Errorf("next page %+v does not lead on from %+v", next, q)
		}
		q = q.Following(page)
	}
	return joined, errors.New("the pages do not end")
}

func join(a, b market.Bars) market.Bars {
	out := market.MakeBars(a.Len()+b.Len(), false)
	for i := range a.T {
		out.Append(a.At(i))
	}
	for i := range b.T {
		out.Append(b.At(i))
	}
	return out
}

// soundPage checks what holds for every page alone.
func soundPage(p provider.Provider, q provider.BarQuery, page provider.BarPage) error {
	caps := p.Capabilities()
	if err := page.Bars.Check(); err != nil {
		return err
	}
	n := page.Bars.Len()
	switch {
	case n > caps.PageSize || q.Limit > 0 && n > q.Limit:
		return fmt.Errorf("a page has %d bars; page size %d, limit %d", n, caps.PageSize, q.Limit)
	case page.Running && n == 0:
		return errors.New("a page without bars has a running one")
	case page.Synthetic != caps.Synthetic:
		return fmt.Errorf("page says synthetic %v, capabilities %v", page.Synthetic, caps.Synthetic)
	case caps.TakerBuy && n > 0 && (page.Bars.TakerBuy == nil || math.IsNaN(page.Bars.TakerBuy[0])):
		return errors.New("taker-buy volume was promised and is missing")
	case n > 0 && (q.From != 0 && page.Bars.T[0] < q.From || q.To != 0 && page.Bars.T[n-1] >= q.To):
		return fmt.Errorf("bars from %d to %d are outside %d to %d", page.Bars.T[0], page.Bars.T[n-1], q.From, q.To)
	}
	return nil
}

func soundBars(ctx context.Context, p provider.Provider, t Target) error {
	bars, err := all(ctx, p, t.query())
	if err != nil {
		return err
	}
	if bars.Len() < leastBars {
		return fmt.Errorf("the target has %d bars, the suite needs %d", bars.Len(), leastBars)
	}
	inst, err := p.Instrument(ctx, t.Symbol)
	if err != nil {
		return err
	}
	holes, err := market.Gaps(&bars, t.Interval, inst.Calendar)
	if err == nil && len(holes.OffGrid) > 0 {
		return fmt.Errorf("%d bars are off the instrument's calendar, the first at %d", len(holes.OffGrid), holes.OffGrid[0])
	}
	return err
}

func onlyTheLastRuns(ctx context.Context, p provider.Provider, t Target) error {
	q := t.query()
	q.To, q.From = 0, 0
	newest, err := p.Bars(ctx, q)
	if err != nil {
		return err
	}
	n := newest.Bars.Len()
	if n < 2 {
		return fmt.Errorf("the newest page has %d bars", n)
	}
	q.To = newest.Bars.T[n-1]
	older, err := p.Bars(ctx, q)
	if err != nil {
		return err
	}
	if older.Running {
		return errors.New("a page that ends before the newest bar has a running one")
	}
	return nil
}

func limits(ctx context.Context, p provider.Provider, t Target) error {
	for _, limit := range []int{1, 2, 7, 19} {
		for _, from := range []int64{t.From, 0} {
			q := t.query()
			q.From, q.Limit = from, limit
			page, err := p.Bars(ctx, q)
			if err != nil {
				return err
			}
			if err := soundPage(p, q, page); err != nil {
				return err
			}
			if want := min(limit, p.Capabilities().PageSize); page.Bars.Len() != want || !page.More {
				return fmt.Errorf("limit %d from %d gives %d bars, more is %v", limit, from, page.Bars.Len(), page.More)
			}
		}
	}
	q := t.query()
	q.Limit = math.MaxInt
	page, err := p.Bars(ctx, q)
	if err != nil {
		return fmt.Errorf("a limit beyond the page size: %w", err)
	}
	return soundPage(p, q, page)
}

func bounds(ctx context.Context, p provider.Provider, t Target) error {
	whole, err := all(ctx, p, t.query())
	if err != nil {
		return err
	}
	n := whole.Len()
	if n < leastBars {
		return fmt.Errorf("%d bars are too few", n)
	}
	for _, tc := range []struct {
		from, to int64
		i, j     int
	}{
		{whole.T[3], whole.T[9], 3, 9},          // from is inclusive, to exclusive
		{whole.T[3] + 1, whole.T[9] + 1, 4, 10}, // neither needs to be on the grid
		{whole.T[3], whole.T[3] + 1, 3, 4},
	} {
		q := t.query()
		q.From, q.To = tc.from, tc.to
		got, err := all(ctx, p, q)
		if err != nil {
			return err
		}
		if err := same(got, whole.Slice(tc.i, tc.j)); err != nil {
			return fmt.Errorf("from %d to %d: %w", tc.from, tc.to, err)
		}
	}
	return nil
}

func pagesForward(ctx context.Context, p provider.Provider, t Target) error {
	whole, err := all(ctx, p, t.query())
	if err != nil {
		return err
	}
	q := t.query()
	q.Limit = 7
	got, err := all(ctx, p, q)
	if err != nil {
		return err
	}
	return same(got, whole)
}

func pagesBackward(ctx context.Context, p provider.Provider, t Target) error {
	whole, err := all(ctx, p, t.query())
	if err != nil {
		return err
	}
	q := t.query()
	q.From, q.Limit = 0, 7
	var got market.Bars
	for range whole.Len() {
		page, err := p.Bars(ctx, q)
		if err != nil {
			return err
		}
		got = join(page.Bars, got)
		if !page.More || page.Next <= t.From {
			break
		}
		q = q.Following(page)
	}
	return same(got.Slice(got.Search(t.From), got.Len()), whole)
}

func newest(ctx context.Context, p provider.Provider, t Target) error {
	q := provider.BarQuery{Symbol: t.Symbol, Interval: t.Interval, Limit: 5}
	page, err := p.Bars(ctx, q)
	if err != nil {
		return err
	}
	if page.Bars.Len() != min(5, p.Capabilities().PageSize) {
		return fmt.Errorf("asked for the newest 5, got %d", page.Bars.Len())
	}
	q.From = page.Bars.T[page.Bars.Len()-1] + 1
	after, err := p.Bars(ctx, q)
	if err != nil {
		return err
	}
	// A live source may have opened a bar in between, but not several.
	if after.Bars.Len() > 1 {
		return fmt.Errorf("%d bars are newer than the newest", after.Bars.Len())
	}
	return soundPage(p, q, after)
}

func emptyRange(ctx context.Context, p provider.Provider, t Target) error {
	q := t.query()
	q.To = q.From
	page, err := p.Bars(ctx, q)
	if err != nil || page.Bars.Len() != 0 || page.More {
		return fmt.Errorf("got %d bars, more %v, %w", page.Bars.Len(), page.More, orNone(err))
	}
	return nil
}

var errNone = errors.New("no error")

// orNone keeps a nil error printable.
func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

func wrongQueries(ctx context.Context, p provider.Provider, t Target) error {
	for field, change := range map[string]func(*provider.BarQuery){
		"limit":    func(q *provider.BarQuery) { q.Limit = -1 },
		"to":       func(q *provider.BarQuery) { q.To = q.From - 1 },
		"interval": func(q *provider.BarQuery) { q.Interval = 0 },
	} {
		q := t.query()
		change(&q)
		_, err := p.Bars(ctx, q)
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Field != field {
			return fmt.Errorf("a wrong %s gives %w", field, orNone(err))
		}
	}
	return nil
}

func unknownSymbol(ctx context.Context, p provider.Provider, t Target) error {
	q := t.query()
	q.Symbol = t.Unknown
	_, barsErr := p.Bars(ctx, q)
	_, instErr := p.Instrument(ctx, t.Unknown)
	for _, err := range []error{barsErr, instErr} {
		f := fault.Of(err)
		if f == nil || f.Kind != fault.NotFound {
			return fmt.Errorf("want not found, got %w", orNone(err))
		}
		if !strings.Contains(f.Message, p.Name()) || !strings.Contains(f.Message, t.Unknown.Name) {
			return fmt.Errorf("the message %q names not both %s and %s", f.Message, p.Name(), t.Unknown.Name)
		}
	}
	return nil
}

func unsupportedInterval(ctx context.Context, p provider.Provider, t Target) error {
	supported := p.Capabilities().Intervals
	for _, i := range append(market.Intervals(), market.Month1+1) {
		if p.Capabilities().Has(i) {
			continue
		}
		q := t.query()
		q.Interval = i
		_, err := p.Bars(ctx, q)
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Invalid || f.Field != "interval" {
			return fmt.Errorf("interval %v gives %w", i, orNone(err))
		}
		for _, s := range supported {
			if !slices.Contains(strings.Fields(f.Allowed), s.String()) {
				return fmt.Errorf("interval %v is refused without naming %v: %q", i, s, f.Allowed)
			}
		}
	}
	return nil
}

func instrument(ctx context.Context, p provider.Provider, t Target) error {
	inst, err := p.Instrument(ctx, t.Symbol)
	if err != nil {
		return err
	}
	if inst.Symbol.Venue != p.Name() || inst.Symbol.Name == "" {
		return fmt.Errorf("the instrument calls itself %v", inst.Symbol)
	}
	if !inst.Calendar.RoundTheClock() && !p.Capabilities().Sessions {
		return errors.New("the instrument trades in sessions, the capabilities deny it")
	}
	if inst.Tick.IsNegative() || inst.Step.IsNegative() || inst.MinQuantity.IsNegative() || inst.MaxQuantity.IsNegative() || inst.MinNotional.IsNegative() {
		return errors.New("an amount is negative")
	}
	return nil
}

func cancelled(ctx context.Context, p provider.Provider, t Target) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Bars(ctx, t.query()); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("bars: %w", orNone(err))
	}
	if _, err := p.Instrument(ctx, t.Symbol); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("instrument: %w", orNone(err))
	}
	return nil
}

func concurrent(ctx context.Context, p provider.Provider, t Target) error {
	want, err := all(ctx, p, t.query())
	if err != nil {
		return err
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for range longtest.Pick(2, 5) {
				got, err := all(ctx, p, t.query())
				if err == nil {
					err = same(got, want)
				}
				errs[k] = errors.Join(errs[k], err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// same returns where two runs of bars differ.
func same(got, want market.Bars) error {
	if got.Len() != want.Len() {
		return fmt.Errorf("got %d bars, want %d", got.Len(), want.Len())
	}
	for i := range got.T {
		if !got.At(i).Equal(want.At(i)) {
			return fmt.Errorf("bar %d is %+v, want %+v", i, got.At(i), want.At(i))
		}
	}
	return nil
}
