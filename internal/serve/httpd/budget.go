package httpd

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
)

// Limits bounds what clients may use; docs/limits.md lists them. A zero field means its
// default.
type Limits struct {
	Calls     int         // concurrent requests of a token, until the response is sent; 16
	Held      int64       // bytes that a token's requests and responses may hold; 16 MiB
	HeldAll   int64       // the same for all tokens together; 128 MiB
	HeldOpen  int64       // the same for all clients without a token together; 16 MiB
	Requests  bucket.Rate // requests of a token; 2,000 at once, then 500 a second
	Strangers bucket.Rate // requests of an address without a valid token; 200 at once, then 50 a second
	Address   int         // connections of an address; half of all
	// Owner returns what all tokens of an owner together may use; nil for no such limit.
	Owner func(owner principal.Owner) OwnerLimits
	// OverPlan counts that a limit of a plan has refused a request; nil for nothing.
	OverPlan func(plan, limit string)
}

// OwnerLimits bounds what the tokens of one owner may use together.
type OwnerLimits struct {
	Plan     string // its name
	Calls    int    // concurrent requests
	Requests bucket.Rate
	Streams  int // tokens with an open event stream
}

// maxPlans bounds the plans whose rates are tracked: some came and went.
const maxPlans = 256

func (l *Limits) setDefaults(connections int) {
	l.Calls = cmp.Or(l.Calls, 16)
	l.Held = cmp.Or(l.Held, 16<<20)
	l.HeldAll = cmp.Or(l.HeldAll, 128<<20)
	l.HeldOpen = cmp.Or(l.HeldOpen, 16<<20)
	l.Requests = cmp.Or(l.Requests, bucket.Rate{Burst: 2000, Every: time.Second / 500})
	l.Strangers = cmp.Or(l.Strangers, bucket.Rate{Burst: 200, Every: time.Second / 50})
	l.Address = cmp.Or(l.Address, max(1, connections/2))
}

// maxRetryAfter is the longest Retry-After of a refused request.
const maxRetryAfter = 30 * time.Second

// remembered is the number of tokens and addresses whose rate is tracked.
const remembered = 4096

// budgets tracks the usage of tokens and addresses. It is safe for concurrent use and has
// an entry for each token with an active request.
type budgets struct {
	limits    Limits
	requests  *bucket.Set[string]
	strangers *bucket.Set[netip.Addr]

	refused struct{ calls, held, heldAll, heldOpen, requests, strangers atomic.Uint64 }

	mu     sync.Mutex
	tokens map[string]*usage
	owners map[principal.Owner]int            // requests of each owner; of those who have some
	open   map[principal.Owner]map[string]int // event streams of each token of an owner; of those who have some
	plans  map[OwnerLimits]*planRates
	held   int64 // bytes, of all of them
	opened int64 // bytes, of clients without a token
}

// planRates are the rates of the owners with the same limits.
type planRates struct {
	requests *bucket.Set[principal.Owner]
	retries  *bucket.Set[principal.Owner] // of refused requests, by Retry-After
}

func (b *budgets) plan(l OwnerLimits) *planRates {
	p := b.plans[l]
	if p == nil {
		if len(b.plans) >= maxPlans {
			clear(b.plans)
		}
		p = &planRates{
			requests: bucket.NewSet[principal.Owner](l.Requests, remembered),
			retries:  bucket.NewSet[principal.Owner](bucket.Rate{Burst: l.Calls, Every: time.Second / time.Duration(l.Calls)}, remembered),
		}
		b.plans[l] = p
	}
	return p
}

// refuse is the refusal of a request of an owner that may be repeated after a wait. Of many that are
// refused at once, no more come back in one second than the owner may have at a time. Retry-After
// has whole seconds; the rest of the wait is before the answer, so that they come one by one.
func (p *planRates) refuse(owner principal.Owner, now time.Time, wait time.Duration, format string, args ...any) *httpRefusal {
	refusal := busy(format, args...)
	place := p.retries.Reserve(owner, now, maxRetryAfter)
	refusal.hold = place % time.Second
	refusal.retry = min(maxRetryAfter, time.Second+max(place, wait).Truncate(time.Second))
	return refusal
}

// usage is the usage of one token.
type usage struct {
	calls int
	held  int64
}

func newBudgets(l Limits) *budgets {
	return &budgets{
		limits: l, tokens: make(map[string]*usage), owners: make(map[principal.Owner]int), open: make(map[principal.Owner]map[string]int), plans: make(map[OwnerLimits]*planRates),
		requests: bucket.NewSet[string](l.Requests, remembered), strangers: bucket.NewSet[netip.Addr](l.Strangers, remembered),
	}
}

// begin counts a request of a token, or refuses it. end must be called when the response
// is sent.
func (b *budgets) begin(key string) *httpRefusal {
	if refusal := b.take(key); refusal != nil {
		return refusal
	}
	return b.enter(key)
}

// take counts a request of a token against its rate alone, or refuses it.
func (b *budgets) take(key string) *httpRefusal {
	if wait := b.requests.Take(key, time.Now()); wait > 0 {
		b.refused.requests.Add(1)
		return busy("too many requests: the limit is %.0f per second per token; wait before the next", perSecond(b.limits.Requests))
	}
	return nil
}

// beginFor counts a request of an owner, or refuses it. endFor must be called when the response is
// sent.
func (b *budgets) beginFor(owner principal.Owner) *httpRefusal {
	if b.limits.Owner == nil {
		return nil
	}
	most := b.limits.Owner(owner)
	b.mu.Lock()
	defer b.mu.Unlock()
	plan, now := b.plan(most), time.Now()
	if wait := plan.requests.Take(owner, now); wait > 0 {
		b.overPlan(most.Plan, planRate)
		return plan.refuse(owner, now, wait, "too many requests: your plan %s has %.0f per second; wait before the next", most.Plan, perSecond(most.Requests))
	}
	if b.owners[owner] >= most.Calls {
		b.overPlan(most.Plan, planCalls)
		return plan.refuse(owner, now, 0, "too many requests: %d requests of yours are active, as many as your plan %s has; wait for a response", most.Calls, most.Plan)
	}
	b.owners[owner]++
	return nil
}

// The limits of plans that requests may exceed, as plan files name them.
const (
	planCalls   = "calls_at_once"
	planRate    = "calls_per_second"
	planStreams = "streams"
)

func (b *budgets) overPlan(plan, limit string) {
	if b.limits.OverPlan != nil {
		b.limits.OverPlan(plan, limit)
	}
}

// beginStream counts an event stream of an owner's token, or refuses it. A stream that takes the place of one of the same token is never
// refused. endStream must be called when it ends.
func (b *budgets) beginStream(owner principal.Owner, key string) *httpRefusal {
	if b.limits.Owner == nil {
		return nil
	}
	most := b.limits.Owner(owner)
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.open[owner]
	if all[key] == 0 && len(all) >= most.Streams {
		b.overPlan(most.Plan, planStreams)
		return b.plan(most).refuse(owner, time.Now(), 0, "too many streams: %d clients of yours listen, as many as your plan %s has; end one of them", len(all), most.Plan)
	}
	if all == nil {
		all = make(map[string]int)
		b.open[owner] = all
	}
	all[key]++
	return nil
}

func (b *budgets) endStream(owner principal.Owner, key string) {
	if b.limits.Owner == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.open[owner]
	if all[key]--; all[key] <= 0 {
		delete(all, key)
	}
	if len(all) == 0 {
		delete(b.open, owner)
	}
}

func (b *budgets) endFor(owner principal.Owner) {
	if b.limits.Owner == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owners[owner]--; b.owners[owner] <= 0 {
		delete(b.owners, owner)
	}
}

// enter is begin without the rate, for a request that is still arriving.
func (b *budgets) enter(key string) *httpRefusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(key)
	defer b.forget(key)
	switch {
	case u.calls >= b.limits.Calls:
		b.refused.calls.Add(1)
		return busy("too many requests: %d requests of this token are active; wait for a response", b.limits.Calls)
	case u.held >= b.limits.Held:
		b.refused.held.Add(1)
		return busy("too much unread: %d bytes of responses wait for this token's client; read them first", u.held)
	case b.held >= b.limits.HeldAll:
		b.refused.heldAll.Add(1)
		return overfull()
	}
	u.calls++
	return nil
}

func (b *budgets) end(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(key).calls--
	b.forget(key)
}

// stranger counts a request of an address without a valid token, or refuses it.
func (b *budgets) stranger(address netip.Addr) *httpRefusal {
	if !address.IsValid() || address.IsLoopback() { // this machine, or an undeclared proxy
		return nil
	}
	if wait := b.strangers.Take(bucket.Network(address), time.Now()); wait > 0 {
		b.refused.strangers.Add(1)
		return busy("too many requests without a token from this address: the limit is %.0f per second", perSecond(b.limits.Strangers))
	}
	return nil
}

// beginOpen refuses a request without a token while such clients hold too many unread
// responses. Their budget is separate from that of tokens.
func (b *budgets) beginOpen() *httpRefusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened < b.limits.HeldOpen {
		return nil
	}
	b.refused.heldOpen.Add(1)
	return overfull()
}

func overfull() *httpRefusal {
	refusal := busy("the server holds too many unread responses; retry in a moment")
	refusal.status = http.StatusServiceUnavailable
	return refusal
}

// hold counts bytes held by a request or response of a token, "" for none. They are given
// back as a negative number.
func (b *budgets) hold(key string, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if key == "" {
		b.opened += int64(bytes)
		return
	}
	b.of(key).held += int64(bytes)
	b.held += int64(bytes)
	b.forget(key)
}

// of returns the usage of a token.
func (b *budgets) of(key string) *usage {
	u := b.tokens[key]
	if u == nil {
		u = &usage{}
		b.tokens[key] = u
	}
	return u
}

// forget removes a token without usage.
func (b *budgets) forget(key string) {
	if u := b.tokens[key]; u != nil && *u == (usage{}) {
		delete(b.tokens, key)
	}
}

// Budget is one limit, its usage and how often it was exceeded.
type Budget struct {
	Name    string  // as in docs/limits.md
	Scope   string  // token, address, strangers or all
	Limit   float64 // requests a second for a rate
	Used    float64 // by the heaviest user; 0 for a rate
	Refused uint64  // requests or connections since the start
}

// report lists the budgets.
func (b *budgets) report() []Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	var most usage
	for _, u := range b.tokens {
		most.calls, most.held = max(most.calls, u.calls), max(most.held, u.held)
	}
	l := &b.limits
	return []Budget{
		{"calls", "token", float64(l.Calls), float64(most.calls), b.refused.calls.Load()},
		{"bytes", "token", float64(l.Held), float64(most.held), b.refused.held.Load()},
		{"bytes", "all", float64(l.HeldAll), float64(b.held), b.refused.heldAll.Load()},
		{"bytes", "strangers", float64(l.HeldOpen), float64(b.opened), b.refused.heldOpen.Load()},
		{"requests", "token", perSecond(l.Requests), 0, b.refused.requests.Load()},
		{"requests", "address", perSecond(l.Strangers), 0, b.refused.strangers.Load()},
	}
}

func perSecond(r bucket.Rate) float64 { return float64(time.Second) / float64(r.Every) }

func busy(format string, args ...any) *httpRefusal {
	refusal := refuse(http.StatusTooManyRequests, fmt.Sprintf(format, args...))
	refusal.retry = time.Second
	return refusal
}
