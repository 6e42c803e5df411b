package alpaca

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"candela/lib/market"
)

// client is one connection to the stream.
type client struct {
	server *Server
	conn   *websocket.Conn
	feed   string
	packed bool // speaks MessagePack

	mu      sync.Mutex
	key     string
	subs    map[string][]string // symbols by channel
	sent    int64               // the minute up to which bars were sent
	updated map[string]market.Bar
	trades  int
}

// command is what a client says. Both formats are decoded into it.
type command struct {
	Action      string   `json:"action"`
	Key         string   `json:"key"`
	Secret      string   `json:"secret"`
	Bars        []string `json:"bars"`
	UpdatedBars []string `json:"updatedBars"`
	DailyBars   []string `json:"dailyBars"`
	Trades      []string `json:"trades"`
	Quotes      []string `json:"quotes"`
}

func (o *command) channels() map[string][]string {
	return map[string][]string{"bars": o.Bars, "updatedBars": o.UpdatedBars, "dailyBars": o.DailyBars, "trades": o.Trades, "quotes": o.Quotes}
}

// stream serves one connection: bars at the end of each minute, corrections of
// some of them half a minute later, a trade of each symbol every other second.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, feed string) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // however it ends, it is over
	c := &client{server: s, conn: conn, feed: feed, packed: r.Header.Get("Content-Type") == "application/msgpack", subs: map[string][]string{}}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if s.getFault() == Mute {
		<-conn.CloseRead(ctx).Done()
		return
	}
	if c.send(ctx, map[string]any{"T": "success", "msg": "connected"}) != nil {
		return
	}
	defer c.leave()
	var reader sync.WaitGroup
	defer reader.Wait()
	defer conn.CloseNow() //nolint:errcheck // lets the reader go
	reader.Go(func() {
		defer cancel()
		c.listen(ctx)
	})
	c.speak(ctx)
}

func (c *client) leave() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.key != "" {
		c.server.live[c.key]--
	}
}

// listen obeys what the client says until it leaves.
func (c *client) listen(ctx context.Context) {
	for {
		_, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		var o command
		if c.packed {
			err = unpackCommand(data, &o)
		} else {
			err = json.Unmarshal(data, &o)
		}
		if err != nil {
			_ = c.complain(ctx, 400, "invalid syntax")
			continue
		}
		if c.obey(ctx, &o) != nil {
			return
		}
	}
}

func (c *client) obey(ctx context.Context, o *command) error {
	switch o.Action {
	case "auth":
		return c.auth(ctx, o)
	case "subscribe", "unsubscribe":
		c.mu.Lock()
		if c.key == "" {
			c.mu.Unlock()
			return c.complain(ctx, 401, "not authenticated")
		}
		// Some clients want the acknowledgement to list what is subscribed alone.
		ack := map[string]any{"T": "subscription"}
		next := map[string][]string{}
		for channel, symbols := range o.channels() {
			have := slices.DeleteFunc(slices.Clone(c.subs[channel]), func(s string) bool { return slices.Contains(symbols, s) })
			if o.Action == "subscribe" {
				have = append(have, symbols...)
			}
			next[channel] = have
			ack[channel] = have
		}
		if c.feed == "iex" && len(next["trades"])+len(next["quotes"]) > 30 {
			c.mu.Unlock()
			return c.complain(ctx, 405, "symbol limit exceeded")
		}
		c.subs = next
		if c.sent == 0 {
			c.sent = c.server.now() / 60 * 60
		}
		c.mu.Unlock()
		return c.send(ctx, ack)
	}
	return c.complain(ctx, 400, "invalid syntax")
}

func (c *client) auth(ctx context.Context, o *command) error {
	s := c.server
	s.mu.Lock()
	code, text := 0, ""
	switch {
	case c.key != "":
		code, text = 403, "already authenticated"
	case !known(o.Key, o.Secret):
		code, text = 402, "auth failed"
	case c.feed == "sip" && o.Key != PaidKeyID:
		code, text = 409, "insufficient subscription"
	case s.live[o.Key] > 0 || s.fault == Busy:
		code, text = 406, "connection limit exceeded"
	default:
		s.live[o.Key]++
		s.streams++
		c.mu.Lock()
		c.key = o.Key
		c.mu.Unlock()
	}
	s.mu.Unlock()
	if code != 0 {
		return c.complain(ctx, code, text)
	}
	return c.send(ctx, map[string]any{"T": "success", "msg": "authenticated"})
}

// speak sends what happened, every other second.
func (c *client) speak(ctx context.Context) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		fault := c.server.getFault()
		messages := c.news() //nolint:contextcheck // prices are made up at once
		switch fault {
		case SlowClient:
			_ = c.complain(ctx, 407, "slow client")
			return
		case Drop:
			return
		case Silent:
			continue
		case Garbage:
			err = c.conn.Write(ctx, websocket.MessageText, []byte("<html>"))
		case Reordered:
			slices.Reverse(messages)
		case Doubled:
			messages = append(messages, messages...)
		default:
		}
		if len(messages) > 0 && err == nil {
			err = c.send(ctx, messages...)
		}
		if err != nil {
			return
		}
	}
}

// news returns the messages since the call before.
func (c *client) news() []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := c.server, c.server.now()
	if c.feed == "delayed_sip" {
		now -= 15 * 60
	}
	if c.sent == 0 {
		return nil
	}
	var out []map[string]any
	from, to := c.sent, now/60*60
	if c.feed == "delayed_sip" && from > to {
		from, c.sent = to, to
	}
	if to > from {
		out = c.corrections() // that the clock has left behind
		c.sent = to
	}
	for _, symbol := range c.subs["bars"] {
		st, ok := s.list[symbol]
		if !ok || to <= from {
			continue
		}
		bars := st.tape.Bars(market.Minute1, from, to, now)
		for k := range bars.T {
			b := bars.At(k)
			if slices.Contains(c.subs["updatedBars"], symbol) && b.T/60%3 == 0 && k == bars.Len()-1 {
				c.updated[symbol] = b
				b.V = max(0, b.V-1) // a late trade is not in it yet
			}
			out = append(out, message("b", symbol, b))
		}
	}
	if now%60 >= 30 {
		out = append(out, c.corrections()...)
	}
	out = append(out, c.days(now, to > from)...)
	for _, symbol := range c.subs["trades"] {
		if st, ok := s.list[symbol]; ok && st.tape.Trades(now) {
			c.trades++
			conditions := []string{"@", "I"}
			price := st.tape.Price(now)
			if c.trades%50 == 0 { // a report out of order, at a price of long ago
				conditions, price = []string{"Z"}, 2*price
			}
			out = append(out, map[string]any{
				"T": "t", "i": c.trades, "S": symbol, "x": "V", "p": price, "s": 10, "t": time.Unix(now, 0).UTC(), "c": conditions, "z": "C",
			})
		}
	}
	return out
}

// corrections sends the minutes that late trades have changed.
func (c *client) corrections() []map[string]any {
	out := make([]map[string]any, 0, len(c.updated))
	for symbol, b := range c.updated {
		out = append(out, message("u", symbol, b))
	}
	c.updated = map[string]market.Bar{}
	return out
}

// days sends the days so far, once a minute.
func (c *client) days(now int64, due bool) []map[string]any {
	var out []map[string]any
	if !due {
		return nil
	}
	for _, symbol := range c.subs["dailyBars"] {
		st, ok := c.server.list[symbol]
		day, trading := c.server.hours.Dated(market.Day1, now)
		if !ok || !trading || now > day.Close+120 {
			continue
		}
		if bars := st.day.Bars(market.Day1, day.Open, day.Close, now/60*60); bars.Len() > 0 {
			b := bars.At(0)
			b.T = c.server.hours.Midnight(market.Day1, b.T)
			out = append(out, message("d", symbol, b))
		}
	}
	return out
}

func message(kind, symbol string, b market.Bar) map[string]any {
	return map[string]any{
		"T": kind, "S": symbol, "o": b.O, "h": b.H, "l": b.L, "c": b.C, "v": uint64(b.V), "t": time.Unix(b.T, 0).UTC(), "n": uint64(b.V)/100 + 1, "vw": b.C,
	}
}

func (c *client) complain(ctx context.Context, code int, text string) error {
	return c.send(ctx, map[string]any{"T": "error", "code": code, "msg": text})
}

// send writes one frame: a list of messages.
func (c *client) send(ctx context.Context, messages ...map[string]any) error {
	if c.packed {
		return c.conn.Write(ctx, websocket.MessageBinary, pack(nil, messages))
	}
	data, err := json.Marshal(messages)
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, websocket.MessageText, data)
}
