package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
)

// The console's pages follow the account by server-sent events. A price patches a number, a
// notice is shown on whatever page is open, and a change names a topic: a page that shows it
// fetches its parts again. One goroutine
// looks at the account for all streams, and only while there is one.
const (
	lookEvery    = 500 * time.Millisecond // between two looks at the account
	listEvery    = 8                      // looks between two of the whole list of orders
	beatEvery    = 10 * time.Second       // without events, a stream says the time
	maxLook      = 5 * time.Second        // for one look
	streamBuffer = 16                     // events that wait for a slow stream; then it catches up with all topics
	writeWithin  = 20 * time.Second       // for one event
)

// event is one message of a stream.
type event struct {
	name, data string
	say        func(f format) notice // the data of a notice, as the reader prefers numbers
}

// hub looks at the account for all streams. It is safe for concurrent use.
type hub struct {
	c     *Console
	seed  maphash.Seed
	wake  chan struct{} // has one element while a look is asked for
	mu    sync.Mutex
	all   map[*stream]struct{}
	ended chan struct{} // closed when the goroutine of the hub has returned; nil if there is none
	ready chan struct{} // closed when that goroutine has looked once
	stop  context.CancelFunc
}

// stream is one open page.
type stream struct {
	events chan event
	ready  <-chan struct{} // closed when there is a look that later ones are compared with
	behind bool            // events were dropped; guarded by the hub
}

func newHub(c *Console) *hub {
	return &hub{c: c, seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), all: map[*stream]struct{}{}}
}

// poke asks for a look now.
func (h *hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// join adds a stream. The first one starts the goroutine, and the last one to leave waits for
// its end.
func (h *hub) join() *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &stream{events: make(chan event, streamBuffer)}
	h.all[s] = struct{}{}
	if h.ended == nil {
		ctx, stop := context.WithCancel(context.Background())
		ended, ready := make(chan struct{}), make(chan struct{})
		h.stop, h.ended, h.ready = stop, ended, ready
		go func() {
			defer close(ended)
			h.watch(ctx, ready)
		}()
	}
	s.ready = h.ready
	return s
}

func (h *hub) leave(s *stream) {
	h.mu.Lock()
	delete(h.all, s)
	var ended chan struct{}
	if len(h.all) == 0 {
		h.stop()
		ended, h.ended = h.ended, nil
	}
	h.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// send gives an event to all streams. A stream that does not read misses it, and later fetches
// everything again.
func (h *hub) send(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.all {
		select {
		case s.events <- e:
		default:
			s.behind = true
		}
	}
}

// caughtUp reports whether a stream missed events, once.
func (h *hub) caughtUp(s *stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	missed := s.behind
	s.behind = false
	return missed
}

// sight is what a look saw: a number for each topic, prices, and what notices are made of.
type sight struct {
	topics map[string]uint64
	prices map[string]string
	news   news
}

// since reports whether a topic is not as it was.
func (s sight) since(last sight, topic string) bool { return s.topics[topic] != last.topics[topic] }

// watch looks at the account until ctx ends, and sends what changed. It closes ready after the
// first look.
func (h *hub) watch(ctx context.Context, ready chan<- struct{}) {
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	last := h.look(ctx, sight{}, true)
	close(ready)
	for looks := 1; ; looks++ {
		poked := false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-h.wake:
			poked = true
		}
		now := h.look(ctx, last, poked || looks%listEvery == 0)
		for _, topic := range slices.Sorted(maps.Keys(now.topics)) {
			if now.since(last, topic) {
				h.send(event{name: "change", data: topic})
			}
		}
		for _, say := range now.news.fresh {
			h.send(event{name: "notice", say: say})
		}
		for symbol, price := range now.prices {
			if price != last.prices[symbol] {
				data, _ := json.Marshal([2]string{symbol, price}) // text only
				h.send(event{name: "price", data: string(data)})
			}
		}
		last = now
	}
}

// look reads the account. What cannot be read stays as it was. The long lists are read if that
// is asked for, or if an open order or a waiting alert has changed.
func (h *hub) look(ctx context.Context, last sight, lists bool) sight {
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	now := sight{topics: maps.Clone(last.topics), prices: maps.Clone(last.prices), news: last.news}
	if now.topics == nil {
		now = sight{topics: map[string]uint64{}, prices: map[string]string{}}
	}
	now.news.fresh = nil
	read := func(topics map[string]reading) {
		for topic, read := range topics {
			var b strings.Builder
			if err := read(ctx, &b, &now); err == nil {
				now.topics[topic] = maphash.String(h.seed, b.String())
			}
		}
	}
	read(h.c.topics())
	if lists || now.since(last, "orders") || now.since(last, "alerts") {
		read(h.c.lists())
	}
	return now
}

// reading writes something that differs when a topic has changed.
type reading func(ctx context.Context, to *strings.Builder, now *sight) error

// errUnknown is the error of a reading whose source does not answer.
var errUnknown = errors.New("unknown")

// topics are what pages can follow, but for the long lists.
func (c *Console) topics() map[string]reading {
	by := callerOf(oauth.SoleOwner)
	all := map[string]reading{}
	if c.cfg.Account != nil {
		all["state"], all["orders"] = c.readState, c.readOrders(by, true)
		all["positions"] = c.readPositions(by)
	}
	if c.cfg.Clients != nil {
		all["clients"] = c.readClients(oauth.SoleOwner)
	}
	if c.cfg.Alerts != nil {
		all["alerts"] = c.readAlerts(by)
	}
	return all
}

// lists are the topics that are long to read: all orders, and the alerts that fired.
func (c *Console) lists() map[string]reading {
	all := map[string]reading{}
	if c.cfg.Account != nil {
		all["list"] = c.readOrders(callerOf(oauth.SoleOwner), false)
	}
	if c.cfg.Firings != nil {
		all["fired"] = c.readFirings
	}
	return all
}

func (c *Console) readState(ctx context.Context, to *strings.Builder, _ *sight) error {
	s := c.state(ctx)
	if !s.Known {
		return errUnknown
	}
	_, _ = fmt.Fprint(to, s.Level, s.Why, s.Pending)
	return nil
}

func (c *Console) readOrders(by principal.Caller, open bool) reading {
	return func(ctx context.Context, to *strings.Builder, now *sight) error {
		all, err := c.cfg.Account.Orders(ctx, by, open)
		for _, o := range all {
			_, _ = fmt.Fprint(to, o.ID, o.Status, o.Filled, o.Price, o.StopPrice, o.Quantity, ";")
		}
		if err == nil && !open {
			now.news.orders(all)
		}
		return err
	}
}

func (c *Console) readPositions(by principal.Caller) reading {
	return func(ctx context.Context, to *strings.Builder, now *sight) error {
		all, err := c.cfg.Account.Positions(ctx, by)
		for _, p := range all {
			_, _ = fmt.Fprint(to, p.Symbol, p.Quantity, p.Cost, ";")
			if p.Quote.Last.IsPositive() {
				now.prices[p.Symbol.String()] = p.Quote.Last.String()
			}
		}
		return err
	}
}

func (c *Console) readAlerts(by principal.Caller) reading {
	return func(ctx context.Context, to *strings.Builder, _ *sight) error {
		all, err := c.cfg.Alerts.Alerts(ctx, by)
		for _, a := range all {
			_, _ = fmt.Fprint(to, a.ID, a.State.Fires, ";")
		}
		return err
	}
}

func (c *Console) readFirings(_ context.Context, to *strings.Builder, now *sight) error {
	all := c.cfg.Firings()
	if len(all) > 0 {
		_, _ = fmt.Fprint(to, all[0].Seq)
	}
	now.news.firings(all)
	return nil
}

// serveEvents answers GET /console/events until the browser leaves, the session ends or the
// server stops.
func (c *Console) serveEvents(v *visit) {
	closed, ok := c.cfg.Owner.OpenStream(v.session)
	if !ok {
		slowDown(v.w, 5*time.Second)
		return
	}
	defer closed()
	own := c.hub.join()
	defer c.hub.leave(own)
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	control := http.NewResponseController(v.w)
	_ = control.SetReadDeadline(time.Time{}) // the server's timeout would end the stream
	c.pump(v, own, control)
}

// pump writes events until the stream ends.
func (c *Console) pump(v *visit, own *stream, control *http.ResponseController) {
	write := func(e event) bool {
		if e.say != nil {
			data, _ := json.Marshal(e.say(v.format())) // text only
			e.data = string(data)
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin))
		_, err := fmt.Fprintf(v.w, "event: %s\ndata: %s\n\n", e.name, e.data)
		return err == nil && control.Flush() == nil
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	stopping := shutdown.Context(v.ctx()).Done()
	select { // what changes after the first beat is sent
	case <-own.ready:
	case <-v.ctx().Done():
		return
	case <-stopping:
		return
	}
	for on := write(event{name: "beat", data: c.clock(v)}); on; {
		select {
		case <-v.ctx().Done():
			return
		case <-stopping:
			return
		case e := <-own.events:
			on = write(e)
		case <-beat.C:
			if !c.cfg.Owner.Live(v.ctx(), v.session) {
				_ = write(event{name: "end", data: "session"})
				return
			}
			on = write(event{name: "beat", data: c.clock(v)})
		}
		if c.hub.caughtUp(own) {
			on = on && write(event{name: "change", data: "all"})
		}
	}
}

// clock returns the time of now as pages write it.
func (c *Console) clock(v *visit) string {
	f := v.format()
	return c.cfg.Now().In(f.zone).Format("15:04:05")
}
