package alpaca

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	handshake = 10 * time.Second
	pingEvery = 15 * time.Second
	// freeTrades is how many symbols the iex feed sends the trades of.
	freeTrades = 30
)

// Stream sends bars and trades until ctx ends or the connection is lost. The account may
// have one connection, so that a second stream waits for the end of the first. Symbols are
// not looked up: one that does not exist never trades. Trades of more than 30 symbols are
// not sent on the iex feed; their bars are.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	if p.config.Keys == (Keys{}) {
		return noKeys()
	}
	c := &conversation{p: p, emit: emit, builders: make(map[provider.Sub]*builder)}
	if len(subs) == 0 && changes == nil {
		return fault.Missing("subscriptions", "at least one symbol and interval")
	}
	if err := c.check(subs); err != nil {
		return err
	}
	select {
	case p.one <- struct{}{}:
		defer func() { <-p.one }()
	case <-ctx.Done():
		return ctx.Err()
	}
	socket, err := p.hosts.Dial(ctx, upstream.SocketConfig{
		Venue: name, URL: p.config.StreamURL + "/v2/" + p.config.Feed,
		Idle: 24 * time.Hour, // the night is silent; pings find out whether the venue is there
	})
	if err != nil {
		return err
	}
	defer socket.Close()
	c.socket = socket
	if err := c.open(ctx, subs); err != nil {
		return err
	}
	return socket.Serve(ctx, c.receive, func(ctx context.Context) error { return c.tend(ctx, changes) })
}

// conversation is one connection's life.
type conversation struct {
	p      *Provider
	socket *upstream.Socket
	emit   provider.Emit

	mu       sync.Mutex // events are sent in one order by both goroutines
	sequence provider.EventFilter
	builders map[provider.Sub]*builder
	asked    channels
	pending  int // subscriptions sent and not yet confirmed
}

// channels are the symbols by what is subscribed of them.
type channels struct {
	Bars    []string `json:"bars,omitempty"`
	Updated []string `json:"updatedBars,omitempty"`
	Daily   []string `json:"dailyBars,omitempty"`
	Trades  []string `json:"trades,omitempty"`
}

func (c *conversation) check(subs []provider.Sub) error {
	caps := c.p.Capabilities()
	for _, sub := range subs {
		if !caps.Has(sub.Interval) {
			return provider.UnsupportedInterval(name, sub.Interval, caps)
		}
		if sub.Symbol.Name == "" || sub.Symbol.Venue != "" && sub.Symbol.Venue != name || strings.ContainsAny(sub.Symbol.Name, "/^=") {
			return provider.UnknownSymbol(name, sub.Symbol, guesses(sub.Symbol.Name)...)
		}
	}
	return nil
}

// open greets, proves who we are and subscribes.
func (c *conversation) open(ctx context.Context, subs []provider.Sub) error {
	if err := c.expect(ctx, "connected"); err != nil {
		return err
	}
	keys := c.p.config.Keys
	if err := c.send(ctx, map[string]string{"action": "auth", "key": keys.id, "secret": keys.secret}); err != nil {
		return err
	}
	if err := c.expect(ctx, "authenticated"); err != nil {
		return err
	}
	return c.change(ctx, provider.Change{Add: subs})
}

// expect reads the one success that is due.
func (c *conversation) expect(ctx context.Context, text string) error {
	wait, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	data, err := c.socket.Read(wait)
	if err != nil {
		if ctx.Err() == nil && wait.Err() != nil {
			return fault.Unreachable(errors.New(err.Error()), 0, "alpaca stream: no greeting within %v", handshake)
		}
		return err
	}
	messages, err := readMessages(data)
	switch {
	case err != nil:
		return upstream.MalformedResponse(name, "stream", err)
	case len(messages) == 1 && messages[0].kind == "error":
		return complaint(messages[0].code, messages[0].text, c.p.config.Feed)
	case len(messages) != 1 || messages[0].kind != "success" || messages[0].text != text:
		return upstream.MalformedResponse(name, "stream", errors.New("it does not say "+text))
	}
	return nil
}

func (c *conversation) send(ctx context.Context, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.socket.Send(ctx, data)
}

// change alters the builders and sends the venue the difference.
func (c *conversation) change(ctx context.Context, change provider.Change) error {
	if err := c.check(change.Add); err != nil {
		return err
	}
	c.mu.Lock()
	for _, sub := range change.Drop {
		delete(c.builders, sub)
		c.sequence.Forget(sub)
	}
	for _, sub := range change.Add {
		if c.builders[sub] == nil {
			c.builders[sub] = newBuilder(sub, c.p.hours, c.p.now())
		}
	}
	want := c.want()
	add, drop := want.minus(c.asked), c.asked.minus(want)
	c.asked = want
	differences := map[string]channels{"unsubscribe": drop, "subscribe": add}
	maps.DeleteFunc(differences, func(_ string, w channels) bool { return w.empty() })
	c.pending += len(differences)
	c.mu.Unlock()
	for action, difference := range differences {
		if err := c.send(ctx, struct {
			Action string `json:"action"`
			channels
		}{action, difference}); err != nil {
			return err
		}
	}
	return nil
}

// want returns the channels that the builders need. Which symbols have their
// trades sent does not change while they are subscribed.
func (c *conversation) want() channels {
	var w channels
	for sub := range c.builders {
		if sub.Interval == market.Day1 {
			w.Daily = append(w.Daily, sub.Symbol.Name)
		} else {
			w.Bars = append(w.Bars, sub.Symbol.Name)
		}
	}
	w.Trades = distinct(slices.Concat(w.Bars, w.Daily))
	w.Bars, w.Daily = distinct(w.Bars), distinct(w.Daily)
	w.Updated = w.Bars
	if c.p.config.Feed == IEX {
		dropped := minus(c.asked.Trades, w.Trades)
		w.Trades = append(minus(c.asked.Trades, dropped), minus(w.Trades, c.asked.Trades)...)
		w.Trades = w.Trades[:min(len(w.Trades), freeTrades)]
	}
	return w
}

// distinct sorts a list and drops repetitions.
func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// minus returns what of a is not in b, in a's order.
func minus(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return in[s] })
}

func (w channels) minus(other channels) channels {
	return channels{minus(w.Bars, other.Bars), minus(w.Updated, other.Updated), minus(w.Daily, other.Daily), minus(w.Trades, other.Trades)}
}

func (w channels) empty() bool { return len(w.Bars)+len(w.Updated)+len(w.Daily)+len(w.Trades) == 0 }

// receive handles one frame.
func (c *conversation) receive(ctx context.Context, data []byte) error {
	messages, err := readMessages(data)
	if err != nil {
		return upstream.MalformedResponse(name, "stream", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		var events []provider.Event
		switch m.kind {
		case "error":
			return complaint(m.code, m.text, c.p.config.Feed)
		case "subscription":
			if c.pending--; c.pending == 0 {
				events = []provider.Event{{Kind: provider.Alive, At: c.p.config.Now()}}
			}
		case "b", "u", "d":
			for _, b := range c.of(m.symbol) {
				events = append(events, b.take(m.kind, m.bar)...)
			}
		case "t":
			events = c.traded(m)
		}
		if err := c.emitAll(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// of returns the builders of a symbol, in a fixed order.
func (c *conversation) of(symbol string) []*builder {
	var found []*builder
	for _, i := range c.p.Capabilities().Intervals {
		for _, venue := range []string{"", name} {
			if b := c.builders[provider.Sub{Symbol: market.Symbol{Venue: venue, Name: symbol}, Interval: i}]; b != nil {
				found = append(found, b)
			}
		}
	}
	return found
}

// traded sends the price of a trade in regular hours.
func (c *conversation) traded(m message) []provider.Event {
	if _, open := c.p.hours.Bucket(market.Minute1, m.at.Unix()); m.odd || !open {
		return nil
	}
	var events []provider.Event
	for _, b := range c.of(m.symbol) {
		events = append(events, provider.Event{Sub: b.sub, Kind: provider.Traded, Price: m.price, At: m.at})
	}
	return events
}

// emit sends what keeps the contract.
func (c *conversation) emitAll(ctx context.Context, events []provider.Event) error {
	for _, e := range events {
		if !c.sequence.Allow(&e) {
			continue
		}
		if err := c.emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// tend follows changes, closes bars whose time is over and finds out whether the
// venue is still there.
func (c *conversation) tend(ctx context.Context, changes <-chan provider.Change) error {
	second, ping := time.NewTicker(time.Second), time.NewTicker(pingEvery)
	defer second.Stop()
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case change, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			err = c.change(ctx, change)
		case <-second.C:
			err = c.closeLate(ctx)
		case <-ping.C:
			err = c.ping(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (c *conversation) closeLate(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.p.now()
	for _, b := range c.builders {
		if err := c.emitAll(ctx, b.late(now)); err != nil {
			return err
		}
	}
	return nil
}

// ping asks the venue for a sign of life, unless the reader waits for the receiver that
// takes the events and could not see the answer.
func (c *conversation) ping(ctx context.Context) error {
	if !c.mu.TryLock() {
		return nil
	}
	c.mu.Unlock()
	if err := c.socket.Ping(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.emitAll(ctx, []provider.Event{{Kind: provider.Alive, At: c.p.config.Now()}})
}
