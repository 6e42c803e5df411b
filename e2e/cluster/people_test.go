package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/e2e/remote"
	"candela/e2e/tape"
	"candela/internal/testkit/longtest"
)

// set is an alert that somebody asked for.
type set struct {
	tape.Want
	signal   *tape.Signal   // what it waits for instead of a price; nil for none
	compound *tape.Compound // or this
	note     string
	never    bool // it is far from every price
	owner    int  // whose it is, where owners are many

	// The fields below are from the answer, zero when none came.
	id          string
	made, acked time.Time
	cancelled   bool
}

// people are those who use the site: some set alerts, some listen, some poll.
type people struct {
	*site
	symbols int
	ctx     context.Context
	stop    context.CancelFunc
	busy    sync.WaitGroup

	asked       atomic.Int64 // alerts asked for
	mu          sync.Mutex
	sets        map[string]*set        // by note, every one that was asked for
	heard       []map[string][]heard   // by listener and alert
	polls       map[string][]time.Time // by alert
	fails       map[string]int         // by what was answered
	lost        []time.Time            // when a poll got no answer
	no          []denial               // each 401
	token       map[*remote.Client]*pass
	deals       []*deal        // every order that was asked for
	orderEvents []*orderEvents // the order events that each who asked for them got, and last those of all polls
	apart       bool           // listener and alert belong to owners; each hears of its own alerts alone

	observer *observer
	// Used only by the goroutine that causes the faults.
	dice *rand.Rand
	down map[*replica]bool
}

// heard is one notification as a listener got it.
type heard struct {
	event string
	at    time.Time
}

// denial is a token that was refused.
type denial struct {
	at, since time.Time // when, and since when its client had it
	who       string
}

// pass is that a client was let in: it lets itself in again once for each token.
type pass struct {
	since time.Time
	once  sync.Once
}

func (s *site) newPeople(symbols int) *people {
	p := &people{
		site: s, symbols: symbols, sets: map[string]*set{}, polls: map[string][]time.Time{}, fails: map[string]int{},
		token: map[*remote.Client]*pass{}, down: map[*replica]bool{}, dice: rand.New(rand.NewPCG(longtest.Seed(), 0)),
		observer: s.servers.watch(s.TB, alerts),
	}
	p.ctx, p.stop = context.WithCancel(s.Context())
	return p
}

// client returns a client that is let in.
func (p *people) client(name string) *remote.Client {
	p.Helper()
	c := &remote.Client{Base: p.balancer.url(), Name: name, Owner: p.owner, HTTP: remote.Plain(&http.Transport{MaxIdleConnsPerHost: 8})}
	p.letIn(c)
	return c
}

// letIn lets a client in, with a new token.
func (p *people) letIn(c *remote.Client) {
	p.Helper()
	p.enter(p.ctx, c)
	p.mu.Lock()
	p.token[c] = &pass{since: time.Now()}
	p.mu.Unlock()
}

// call calls a tool as a patient client does: it notes what goes wrong, and lets
// itself in again when its token has died.
func (p *people) call(c *remote.Client, name, arguments string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	p.mu.Lock()
	with := p.token[c]
	p.mu.Unlock()
	answer, err := c.Call(ctx, name, arguments)
	p.judgeAnswer(c, with, name, err)
	return answer, err
}

// judgeAnswer notes an error.
func (p *people) judgeAnswer(c *remote.Client, with *pass, what string, err error) {
	if err == nil || p.ctx.Err() != nil {
		return
	}
	key := "no answer"
	if r, ok := errors.AsType[*remote.RefusalError](err); ok {
		key = r.Code
	} else if status, ok := errors.AsType[*remote.StatusError](err); ok {
		key = strconv.Itoa(status.Status)
	}
	p.mu.Lock()
	p.fails[what+": "+key]++
	if key == "401" {
		p.no = append(p.no, denial{time.Now(), with.since, c.Name})
	}
	p.mu.Unlock()
	if key == "401" {
		with.once.Do(func() { p.letIn(c) })
	}
}

// pause waits, and reports whether people are still here.
func (p *people) pause(d time.Duration) bool {
	select {
	case <-p.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (p *people) symbol(i int) string { return fmt.Sprintf("C%02dUSDT", i) }

// setAlerts sets alerts with some workers, one after each pause, until stop is called,
// which returns when enough are acknowledged.
func (p *people) setAlerts(enough int, every time.Duration) (stop func()) {
	return p.setWith(enough, every, func(i int) func(rng *rand.Rand, first bool) bool {
		c := p.client("setter " + strconv.Itoa(i%3))
		return func(rng *rand.Rand, first bool) bool { return p.setOne(c, rng, first) }
	})
}

// setWith is setAlerts with what each worker does.
func (p *people) setWith(enough int, every time.Duration, worker func(i int) func(rng *rand.Rand, first bool) bool) (stop func()) {
	const workers = 12
	var acked atomic.Int64
	var group sync.WaitGroup
	over := make(chan struct{})
	ended := func() bool {
		select {
		case <-over:
			return acked.Load() >= int64(enough)
		default:
			return false
		}
	}
	began := time.Now()
	for i := range workers {
		setOne := worker(i)
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for first := true; !ended(); {
				// Not faster than it should be, and as fast as it goes when it is late.
				early := every*time.Duration(acked.Load()) - time.Since(began)
				if !p.pause(max(time.Millisecond, min(early, 200*time.Millisecond))) {
					return
				}
				if early >= 0 {
					continue
				}
				if setOne(rng, first) {
					acked.Add(1)
					first = false
				} else {
					p.pause(rand.N(100 * time.Millisecond)) // as clients do that were refused
				}
			}
		})
	}
	p.busy.Go(group.Wait)
	return func() {
		close(over)
		group.Wait()
	}
}

// setOne sets one alert and reports whether that was acknowledged.
func (p *people) setOne(c *remote.Client, rng *rand.Rand, first bool) bool {
	return p.setFor(c, 0, rng, first)
}

// setFor is setOne for one of many owners.
func (p *people) setFor(c *remote.Client, owner int, rng *rand.Rand, first bool) bool {
	a := &set{owner: owner}
	if !p.plan(a, rng, time.Now().Unix(), first) {
		return false
	}
	a.note = "a" + strconv.FormatInt(p.asked.Add(1), 10)
	p.mu.Lock()
	p.sets[a.note] = a
	p.mu.Unlock()
	answer, err := p.call(c, "set_alert", a.arguments())
	if err != nil {
		return false
	}
	var got struct {
		ID      string    `json:"alert_id"`
		Created time.Time `json:"created_at"`
	}
	if err := json.Unmarshal(answer, &got); err != nil || got.ID == "" {
		p.Errorf("set_alert: %v: %s", err, answer)
		return false
	}
	p.mu.Lock()
	a.id, a.made, a.acked = got.ID, got.Created, time.Now()
	p.mu.Unlock()
	if a.never && rng.IntN(2) == 0 {
		if _, err := p.call(c, "cancel_alert", `{"alert_id":"`+a.id+`"}`); err == nil {
			p.mu.Lock()
			a.cancelled = true
			p.mu.Unlock()
		}
	}
	return true
}

// silence is how long a listener hears nothing until it tries again: longer than
// the server is ever silent.
const silence = 20 * time.Second

// listen begins to listen with clients of their own, who have subscribed. Every second one of a site that trades asks
// for order events, too.
func (p *people) listen(n int) (clients []*remote.Client) {
	for i := range n {
		c := p.client("listener " + strconv.Itoa(i))
		to, filter := (*orderEvents)(nil), `{}`
		if p.trades && i%2 == 1 {
			to, filter = p.newEvents("the "+c.Name), `{"events":["alerts","orders"]}`
		}
		until(p.TB, 2*time.Minute, "a listener subscribes", func() bool {
			_, err := p.call(c, "subscribe_notifications", filter)
			return err == nil
		})
		clients = append(clients, c)
		p.mu.Lock()
		p.heard = append(p.heard, map[string][]heard{})
		p.mu.Unlock()
		p.busy.Go(func() { p.stayTuned(c, i, to) })
	}
	return clients
}

// stayTuned listens, and comes back whenever the stream ends, as clients do.
func (p *people) stayTuned(c *remote.Client, i int, to *orderEvents) {
	last := ""
	for p.ctx.Err() == nil {
		p.mu.Lock()
		with := p.token[c]
		p.mu.Unlock()
		ctx, cancel := context.WithCancel(p.ctx)
		patience := time.AfterFunc(silence, cancel)
		err := c.Listen(ctx, last, func() { patience.Reset(silence) }, func(e remote.Event) {
			last = e.ID
			if p.isOrderEvent(to, e.Params) {
				return
			}
			var f struct {
				ID string `json:"alert_id"`
			}
			if err := json.Unmarshal(e.Params, &f); err != nil {
				p.Errorf("pushed: %v: %s", err, e.Params)
			}
			p.mu.Lock()
			p.heard[i][f.ID] = append(p.heard[i][f.ID], heard{e.ID, time.Now()})
			p.mu.Unlock()
		})
		patience.Stop()
		cancel()
		if _, ok := errors.AsType[*remote.StatusError](err); ok {
			p.judgeAnswer(c, with, "stream", err)
		}
		p.pause(200 * time.Millisecond)
	}
}

// poll begins to poll with clients of their own. At a site that trades some ask for order events, with alerts or alone.
func (p *people) poll(n int) {
	var to *orderEvents
	if p.trades {
		to = p.newEvents("the polls")
	}
	for i := range n {
		c := p.client("poller " + strconv.Itoa(i))
		arguments, takes := `{"wait_seconds":2}`, (*orderEvents)(nil)
		if p.trades && i > 0 {
			arguments, takes = []string{`{"wait_seconds":2,"events":["alerts","orders"]}`, `{"wait_seconds":2,"events":["orders"]}`}[i%2], to
		}
		p.busy.Go(func() {
			for p.ctx.Err() == nil {
				answer, err := p.call(c, "get_notifications", arguments)
				if err != nil {
					p.mu.Lock()
					p.lost = append(p.lost, time.Now())
					p.mu.Unlock()
					p.pause(200 * time.Millisecond)
					continue
				}
				p.takePolled(answer, takes)
			}
		})
	}
}

func (p *people) takePolled(answer json.RawMessage, to *orderEvents) {
	var got []json.RawMessage
	if err := json.Unmarshal(answer, &got); err != nil {
		p.Error(err)
	}
	for _, one := range got {
		if p.isOrderEvent(to, one) {
			continue
		}
		var n struct {
			ID string `json:"alert_id"`
		}
		if err := json.Unmarshal(one, &n); err != nil {
			p.Error(err)
		}
		p.mu.Lock()
		p.polls[n.ID] = append(p.polls[n.ID], time.Now())
		p.mu.Unlock()
	}
}

// leave ends all of it.
func (p *people) leave() {
	p.stop()
	p.busy.Wait()
}
