package binance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	maxStreams = 1024 // of one connection
	maxMarks   = 200  // of them with mark prices; of more symbols the last price counts
	maxSubs    = maxStreams - maxMarks
	perCall    = 200 // streams named in one message of ours
	// The venue takes five messages a second, pongs among them.
	spacing = 300 * time.Millisecond
	// A connection with bars of a minute brings some in this time, however little
	// is traded.
	quiet = 3 * time.Minute
)

// Stream sends the klines of the subscriptions. The venue takes the name of any symbol
// and is silent about one that it does not have.
func (p *Provider) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	if len(subs) == 0 {
		return fault.Missing("subscriptions", "at least one symbol and interval")
	}
	first := subs[0].Symbol
	from, _ := p.board(first.Name)
	wire := provider.StreamRunner{
		Venue: name, Caps: p.Capabilities(), Hosts: p.hosts, MaxAge: p.config.MaxAge, Now: p.config.Now,
		Socket: upstream.SocketConfig{URL: from.stream, Spacing: spacing, Quiet: quiet},
	}
	return Explain(wire.Run(ctx, &dialect{part: part(first), marked: make(map[string][]string)}, subs, changes, emit), first, first.Name)
}

// dialect is the venue's combined stream. See provider.StreamProtocol. Beside the klines of a perpetual future
// come its mark prices.
type dialect struct {
	part   string
	lastID int64
	marked map[string][]string // streams of klines, by that of the marks beside them
}

// marks is what the name of a stream of mark prices ends in.
const marks = "@markPrice@1s"

// Key returns the name of a stream, such as btcusdt@kline_1m.
func (d *dialect) Key(_ context.Context, sub provider.Sub) (string, error) {
	pair, _ := sub.Symbol.Pair()
	spelled, err := Spell(market.Symbol{Venue: sub.Symbol.Venue, Name: pair})
	if err == nil && part(sub.Symbol) != d.part {
		err = fault.Field("subscriptions", sub.Symbol.String(), "symbols of the "+d.part+" alone in this stream")
	}
	return strings.ToLower(spelled) + "@kline_" + sub.Interval.String(), err
}

// follow keeps which marks are asked for, and returns the streams of marks to begin or end with those of
// klines.
func (d *dialect) follow(klines []string, begin bool) (more []string) {
	if d.part != perpetuals {
		return nil
	}
	for _, key := range klines {
		symbol, _, _ := strings.Cut(key, "@")
		stream := symbol + marks
		beside, have := d.marked[stream]
		switch {
		case begin && (have || len(d.marked) < maxMarks):
			d.marked[stream] = append(beside, key)
			if !have {
				more = append(more, stream)
			}
		case have:
			if d.marked[stream] = slices.DeleteFunc(beside, func(k string) bool { return k == key }); len(d.marked[stream]) == 0 {
				delete(d.marked, stream)
				more = append(more, stream)
			}
		}
	}
	return more
}

// Requests names at most perCall streams in one message.
func (d *dialect) Requests(keys []string, begin bool) (messages [][]byte, confirmations int) {
	keys = slices.Concat(keys, d.follow(keys, begin))
	method := "UNSUBSCRIBE"
	if begin {
		method = "SUBSCRIBE"
	}
	for part := range slices.Chunk(keys, perCall) {
		d.lastID++
		messages = append(messages, fmt.Appendf(nil, `{"method":%q,"params":["%s"],"id":%d}`, method, strings.Join(part, `","`), d.lastID))
	}
	return messages, len(messages)
}

// Handle takes a message.
func (d *dialect) Handle(c *provider.StreamConn, data []byte) error {
	m, err := parseMessage(data)
	if err != nil {
		return upstream.MalformedResponse(name, "stream "+m.stream, err)
	}
	switch {
	case m.isAnswer:
		return c.Confirm()
	case m.event == "serverShutdown":
		return c.Emit(provider.Event{Kind: provider.Ending, At: m.at})
	case m.event == "markPriceUpdate":
		return d.emitMark(c, m)
	case m.event != "kline":
		return nil
	}
	sub, ok := c.Sub(m.stream)
	if !ok {
		return nil
	}
	if span, ok := (market.Calendar{}).Bucket(sub.Interval, m.kline.bar.T); !ok || span.Open != m.kline.bar.T || m.kline.interval != sub.Interval.String() {
		return upstream.MalformedResponse(name, "stream "+m.stream, fmt.Errorf("a bar of %s that opens at %d", m.kline.interval, m.kline.bar.T))
	}
	e := provider.Event{Sub: sub, Kind: provider.Forming, Bar: m.kline.bar, Price: m.kline.bar.C, At: m.at}
	if m.kline.closed {
		e.Kind = provider.Closed
	}
	return c.Emit(e)
}

// emitMark passes a mark price on to the subscriptions of its symbol.
func (d *dialect) emitMark(c *provider.StreamConn, m message) error {
	for _, key := range d.marked[m.stream] {
		sub, ok := c.Sub(key)
		if !ok {
			continue
		}
		if err := c.Emit(provider.Event{Sub: sub, Kind: provider.Marked, Price: m.mark, At: m.at}); err != nil {
			return err
		}
	}
	return nil
}
