package fake

import (
	"context"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/sample"
	"candela/lib/market"
)

// Prices makes up the trading of the symbols of a venue: seeded, moving, the
// same whenever the same time is asked for, and bars of every interval agree. It
// is safe for concurrent use.
type Prices struct {
	seed    uint64
	source  *sample.Provider
	now     func() time.Time
	variety int      // how many symbols differ
	names   sync.Map // the sample symbol of each name

	mu      sync.Mutex
	step    int64 // the answers below are of this step of the clock
	answers map[advanced]answer
	fixes   map[string][]fixed // by symbol
	last    map[asked]traded   // at most maxAsked
}

// asked is a question of At: a book asks the same one at every request.
type asked struct {
	symbol string // of the sample
	step   int64
}

type traded struct{ price, volume float64 }

const (
	stepSeconds = 4    // between two prices
	maxAsked    = 4096 // answers of At that are kept
)

// advanced is a question of Advance: many clients ask the same one.
type advanced struct {
	symbol   string
	interval market.Interval
	since    int64
	step     int64
}

type answer struct {
	bars    market.Bars
	running bool
}

// NewPrices returns prices as of now. At most variety symbols move differently, so
// that thousands cost no more than that; 0 lets each go its own way.
func NewPrices(seed uint64, variety int, now func() time.Time) *Prices {
	if variety == 0 {
		variety = 999_999
	}
	return &Prices{
		seed: seed, source: sample.New(sample.Config{Seed: seed, Now: now}), now: now, variety: variety,
		answers: make(map[advanced]answer), last: make(map[asked]traded),
	}
}

// Bars returns the bars of a symbol that answer q, and whether the last of them
// is running. The symbol in q is ignored.
func (p *Prices) Bars(symbol string, q provider.BarQuery) (bars market.Bars, running bool) {
	q.Symbol = p.symbol(symbol)
	page, err := p.source.Bars(context.Background(), q)
	if err != nil {
		return market.Bars{}, false // a range that makes no sense holds nothing
	}
	p.overlay(symbol, q, &page)
	return page.Bars, page.Running
}

// Same returns a name that symbols with the same bars share, and the step of the clock until whose
// end the bars stay the same. shared is false for a symbol that has bars of its own.
func (p *Prices) Same(symbol string) (name string, step int64, shared bool) {
	return p.symbol(symbol).Name, p.now().Unix() / 4, len(p.held(symbol)) == 0
}

// At returns the last price of a symbol at a time, and what a minute traded then.
// Prices move every four seconds.
func (p *Prices) At(symbol string, at time.Time) (price, volume float64) {
	if known := during(p.held(symbol), at, at.Add(1)); len(known) > 0 {
		last := known[len(known)-1]
		return last.price, last.volume
	}
	key := asked{p.symbol(symbol).Name, at.Unix() / stepSeconds}
	p.mu.Lock()
	answer, ok := p.last[key]
	p.mu.Unlock()
	if ok {
		return answer.price, answer.volume
	}
	source := sample.New(sample.Config{Seed: p.seed, Now: func() time.Time { return at }})
	page, err := source.Bars(context.Background(), provider.BarQuery{Symbol: p.symbol(symbol), Interval: market.Minute1, Limit: 2})
	if n := page.Bars.Len(); err == nil && n > 0 {
		answer = traded{page.Bars.C[n-1], page.Bars.V[0]}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) >= maxAsked {
		clear(p.last)
	}
	p.last[key] = answer
	return answer.price, answer.volume
}

// Track follows the bars of one symbol and interval.
type Track struct {
	Symbol   string
	Interval market.Interval
	since    int64 // the open of the oldest bar not sent as closed
}

// Follow returns a track that begins with the bar that runs now.
func (p *Prices) Follow(symbol string, i market.Interval) *Track {
	span, _ := market.Calendar{}.Bucket(i, p.now().Unix())
	return &Track{Symbol: symbol, Interval: i, since: span.Open}
}

// Advance returns the bars since the last call, the oldest of which was the
// running one then, and whether the last of them is running.
func (p *Prices) Advance(t *Track) (bars market.Bars, running bool) {
	key := advanced{p.symbol(t.Symbol).Name, t.Interval, t.since, p.now().Unix() / stepSeconds}
	p.mu.Lock()
	if key.step != p.step {
		p.step = key.step
		clear(p.answers)
	}
	answer, ok := p.answers[key]
	ok = ok && p.fixes[t.Symbol] == nil
	p.mu.Unlock()
	if !ok {
		answer.bars, answer.running = p.Bars(t.Symbol, provider.BarQuery{Interval: t.Interval, From: t.since})
		p.mu.Lock()
		p.answers[key] = answer
		p.mu.Unlock()
	}
	if n := answer.bars.Len(); n > 0 {
		t.since = answer.bars.T[n-1]
		if !answer.running {
			t.since = market.Calendar{}.Next(t.Interval, t.since).Open
		}
	}
	return answer.bars, answer.running
}

func (p *Prices) symbol(name string) market.Symbol {
	if s, ok := p.names.Load(name); ok {
		return s.(market.Symbol) //nolint:errcheck // nothing else is stored
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	s := market.Symbol{Name: "SAMPLE-" + strconv.Itoa(1+int(h.Sum32())%p.variety)}
	p.names.Store(name, s)
	return s
}
