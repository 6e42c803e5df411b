package kraken

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/market"
)

const (
	perCall = 100 // pairs named in one message of ours
	spacing = 100 * time.Millisecond
	// grace is how long after its end a bar still takes what arrives late. The
	// venue does not say that a bar has closed, so it closes when this is over by
	// the venue's own time stamps.
	grace = 3 * time.Second
	// beats is how many heartbeats, which come every second, make one Alive.
	beats = 20
)

// Stream sends the bars of the subscriptions.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	wire := provider.StreamRunner{
		Venue: name, Caps: p.Capabilities(), Hosts: p.hosts, Now: p.config.Now,
		Socket: upstream.SocketConfig{URL: strings.TrimSuffix(p.config.StreamURL, "/") + "/v2", Spacing: spacing},
	}
	return wire.Run(ctx, &dialect{provider: p, bars: make(map[string]*state)}, subs, changes, emit)
}

// dialect is the ohlc channel of the second version of the API. See
// provider.StreamProtocol.
type dialect struct {
	provider *Provider
	bars     map[string]*state
	now      time.Time // the latest time stamp of the venue's
	due      time.Time // no bar closes before
	beats    int
	lastID   int64
}

// state is the bars of one subscription that were not sent as closed, oldest first,
// each with the time of its latest state.
type state struct {
	bars []market.Bar
	at   []time.Time
}

// Key returns the pair and the minutes, such as "BTC/USD 5".
func (d *dialect) Key(ctx context.Context, sub provider.Sub) (string, error) {
	found, err := d.provider.find(ctx, sub.Symbol)
	if err != nil {
		return "", err
	}
	return keyOf(found.symbol, int64(minutes()[sub.Interval])), nil
}

func keyOf(symbol string, minutes int64) string { return symbol + " " + strconv.FormatInt(minutes, 10) }

// Requests names the pairs of one interval together. Each pair is confirmed.
func (d *dialect) Requests(keys []string, begin bool) (messages [][]byte, confirmations int) {
	method := "unsubscribe"
	if begin {
		method = "subscribe"
	}
	byMinutes := map[string][]string{}
	for _, key := range keys {
		symbol, minutes, _ := strings.Cut(key, " ")
		byMinutes[minutes] = append(byMinutes[minutes], symbol)
		delete(d.bars, key)
	}
	for _, minutes := range slices.Sorted(maps.Keys(byMinutes)) {
		for symbols := range slices.Chunk(byMinutes[minutes], perCall) {
			d.lastID++
			list, err := json.Marshal(symbols)
			if err != nil {
				panic(err) // strings always can be written
			}
			messages = append(messages, fmt.Appendf(nil,
				`{"method":%q,"params":{"channel":"ohlc","symbol":%s,"interval":%s,"snapshot":false},"req_id":%d}`, method, list, minutes, d.lastID))
		}
	}
	return messages, len(keys)
}

// Handle takes a message.
func (d *dialect) Handle(c *provider.StreamConn, data []byte) error {
	m, err := parseMessage(data)
	if err != nil {
		return upstream.MalformedResponse(name, "stream", err)
	}
	switch {
	case m.method == "subscribe" || m.method == "unsubscribe":
		return c.Confirm()
	case m.channel == "heartbeat":
		if d.beats++; d.beats%beats == 0 {
			c.Alive()
		}
		return nil
	case m.channel != "ohlc":
		return nil
	}
	if m.at.After(d.now) {
		d.now = m.at
	}
	for i := range m.candles {
		if err := d.take(c, &m.candles[i], m.at); err != nil {
			return err
		}
	}
	return d.closeAll(c)
}

// take records the state of a bar and sends it.
func (d *dialect) take(c *provider.StreamConn, one *candle, at time.Time) error {
	key := keyOf(one.symbol, one.minutes)
	sub, ok := c.Sub(key)
	if !ok {
		return nil
	}
	if span, ok := (market.Calendar{}).Bucket(sub.Interval, one.bar.T); !ok || span.Open != one.bar.T {
		return upstream.MalformedResponse(name, "stream "+one.symbol, fmt.Errorf("a bar of %v that opens at %d", sub.Interval, one.bar.T))
	}
	s := d.bars[key]
	if s == nil {
		s = &state{}
		d.bars[key] = s
	}
	s.put(one.bar, at)
	if due := closing(sub.Interval, one.bar); d.due.IsZero() || due.Before(d.due) {
		d.due = due
	}
	return c.Emit(provider.Event{Sub: sub, Kind: provider.Forming, Bar: one.bar, Price: one.bar.C, At: at})
}

// put keeps the latest state of each bar, in the order of their opens.
func (s *state) put(b market.Bar, at time.Time) {
	k, have := slices.BinarySearchFunc(s.bars, b, func(x, y market.Bar) int { return cmp.Compare(x.T, y.T) })
	switch {
	case !have:
		s.bars, s.at = slices.Insert(s.bars, k, b), slices.Insert(s.at, k, at)
	case !at.Before(s.at[k]):
		s.bars[k], s.at[k] = b, at
	}
}

// closing returns when a bar counts as closed.
func closing(i market.Interval, b market.Bar) time.Time {
	span, _ := market.Calendar{}.Bucket(i, b.T)
	return time.Unix(span.Close, 0).Add(grace)
}

// closeAll sends the bars whose grace is over. The last state that came of each
// is the final one: the venue sends every change, in order, on one connection.
func (d *dialect) closeAll(c *provider.StreamConn) error {
	if d.now.Before(d.due) {
		return nil
	}
	d.due = time.Time{}
	for key, s := range d.bars {
		sub, ok := c.Sub(key)
		if !ok {
			delete(d.bars, key)
			continue
		}
		for len(s.bars) > 0 && !d.now.Before(closing(sub.Interval, s.bars[0])) {
			b := s.bars[0]
			s.bars, s.at = s.bars[1:], s.at[1:]
			if err := c.Emit(provider.Event{Sub: sub, Kind: provider.Closed, Bar: b, Price: b.C, At: d.now}); err != nil {
				return err
			}
		}
		if len(s.bars) > 0 {
			if due := closing(sub.Interval, s.bars[0]); d.due.IsZero() || due.Before(d.due) {
				d.due = due
			}
		}
	}
	return nil
}
