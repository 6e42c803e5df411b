package orders

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
)

// venue is a fake that takes orders, and the door before it.
type venue struct {
	*door
	name    string
	asked   atomic.Int32 // how often a request to place or cancel an order came
	args    []string     // of the program
	environ []string
	fills   string          // the arguments of an order that fills at once
	rests   string          // and of one that waits
	half    decimal.Decimal // of its quantity
	last    decimal.Decimal // the price of the bars, approximately

	fail   func(f fake.Fault, arrived func()) // of the next order or cancel
	trade  func(id string, q decimal.Decimal) // fills some of an order
	orders func() map[string]count            // by the client's id
	filled func(id string) decimal.Decimal
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// count is how many orders there are, and how many of them are open.
type count struct{ n, open int }

// on injects a fault into the next matching request and reports its arrival.
func on(f fake.Fault, such func(*http.Request) bool, arrived func()) fake.Fault {
	f.On = func(r *http.Request) bool {
		if !such(r) {
			return false
		}
		arrived()
		return true
	}
	return f
}

func atBinance(tb testing.TB, home string) *venue {
	tb.Helper()
	server := fakebinance.New(fakebinance.Config{Seed: 1})
	server.AllowLate(true) // what waits before the door arrives when the program has started again
	last := server.Price("BTCUSDT")
	server.Pin("BTCUSDT", dec("50000"))
	v := &venue{
		name: "binance", last: last, half: dec("0.01"), rests: `"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":0.02,"price":49000`,
		fills:   `"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.02`,
		environ: []string{"CANDELA_BINANCE_API_KEY=" + fakebinance.Key, "CANDELA_BINANCE_API_SECRET=" + fakebinance.Secret},
		fail:    func(f fake.Fault, arrived func()) { server.Next(on(f, fakebinance.Changes, arrived)) },
		trade:   func(id string, q decimal.Decimal) { server.Trade(id, q) },
	}
	v.door = open(tb, v.count(server, fakebinance.Changes), fakebinance.Changes)
	v.args = []string{"--broker", "binance", "--binance-url", serve(tb, server), "--binance-trade-url", v.url}
	v.orders = func() map[string]count {
		all := make(map[string]count)
		for _, o := range server.Orders() {
			c := all[o.ClientID]
			c.n++
			if o.Open() {
				c.open++
			}
			all[o.ClientID] = c
		}
		return all
	}
	v.filled = func(id string) decimal.Decimal {
		for _, o := range server.Orders() {
			if o.ClientID == id {
				return o.Executed
			}
		}
		return decimal.Zero
	}
	// The bars move, and the price at which orders are matched does not.
	// Tests ask by dry runs, again and again, whether orders pass.
	policy(tb, home, `max_orders_per_minute = "none"`, `price_band_pct = "none"`, `resting_band_pct = "none"`)
	return v
}

func atAlpaca(tb testing.TB, home string) *venue {
	tb.Helper()
	server := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	server.SetHours(true)
	last, _ := server.Quote("MSFT")
	server.SetQuote("MSFT", "100", "100.02")
	v := &venue{
		name: "alpaca", last: last, half: dec("1"), rests: `"symbol":"MSFT","side":"buy","type":"limit","quantity":2,"price":90`,
		fills:   `"symbol":"MSFT","side":"buy","type":"market","quantity":2`,
		environ: []string{"CANDELA_ALPACA_KEY_ID=" + fakealpaca.KeyID, "CANDELA_ALPACA_SECRET_KEY=" + fakealpaca.Secret},
		fail:    func(f fake.Fault, arrived func()) { server.Next(on(f, fakealpaca.Changes, arrived)) },
		trade:   func(id string, q decimal.Decimal) { server.Trade(id, q) },
	}
	v.door = open(tb, v.count(server, fakealpaca.Changes), fakealpaca.Changes)
	v.args = []string{"--broker", "alpaca", "--stock-venue", "alpaca", "--alpaca-url", v.url, "--alpaca-data-url", serve(tb, server)}
	v.orders = func() map[string]count {
		all := make(map[string]count)
		for _, o := range server.Truth().Orders {
			c := all[o.ID]
			c.n++
			if !o.Status.Final() {
				c.open++
			}
			all[o.ID] = c
		}
		return all
	}
	v.filled = func(id string) decimal.Decimal {
		for _, o := range server.Truth().Orders {
			if o.ID == id {
				return o.Filled
			}
		}
		return decimal.Zero
	}
	// The fake's bars may be older than an order likes: its market has hours.
	policy(tb, home, `max_orders_per_minute = "none"`, `max_quote_age = "1h"`, `price_band_pct = "none"`, `resting_band_pct = "none"`)
	return v
}

// count notes the requests that are such ones.
func (v *venue) count(h http.Handler, such func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if such(r) {
			v.asked.Add(1)
		}
		h.ServeHTTP(w, r)
	})
}

func policy(tb testing.TB, home string, lines ...string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(home, "policy.toml"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func serve(tb testing.TB, h http.Handler) string {
	tb.Helper()
	server := httptest.NewServer(h)
	tb.Cleanup(server.Close)
	return server.URL
}

// door is where connections to a venue arrive, over TCP. While it is shut it takes in
// what comes through them, as the network does, and the venue sees nothing of it.
type door struct {
	net.Listener
	url    string
	such   func(*http.Request) bool // that place or cancel an order
	in     chan net.Conn
	closed chan struct{}

	serves sync.WaitGroup // the connections that the venue has not closed

	mu     sync.Mutex
	shut   bool
	held   []*heldConn
	inside []net.Conn // that were let in since it was opened
	waits  int        // requests before it that are such ones
}

// heldConn is a connection that nobody was let in through. It reads from the beginning
// what was taken in.
type heldConn struct {
	net.Conn
	taken bytes.Buffer
	read  chan struct{} // closed when nobody takes in more
}

// Read waits for the reader, so that no byte is missing.
func (c *heldConn) Read(p []byte) (int, error) {
	<-c.read
	if c.taken.Len() > 0 {
		return c.taken.Read(p)
	}
	return c.Conn.Read(p)
}

func open(tb testing.TB, h http.Handler, such func(*http.Request) bool) *door {
	tb.Helper()
	server := httptest.NewUnstartedServer(h)
	d := &door{Listener: server.Listener, such: such, in: make(chan net.Conn), closed: make(chan struct{})}
	server.Listener = d
	// Each request comes over a connection of its own: one that is cut while it is kept
	// for later would lose a request that the program sends before it has noticed.
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	d.url = server.URL
	go d.watch()
	tb.Cleanup(func() {
		d.drop()
		close(d.closed)
		server.Close()
	})
	return d
}

func (d *door) watch() {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return // it is closed
		}
		h := &heldConn{Conn: c, read: make(chan struct{})}
		d.mu.Lock()
		shut := d.shut
		if shut {
			d.held = append(d.held, h)
		} else {
			d.enters(c)
		}
		d.mu.Unlock()
		if shut {
			go d.take(h)
		} else {
			d.hand(c)
		}
	}
}

// take takes in one request.
func (d *door) take(c *heldConn) {
	defer close(c.read)
	request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c.Conn, &c.taken)))
	if err != nil {
		return // it was cut before
	}
	if _, err := io.Copy(io.Discard, request.Body); err == nil && d.such(request) {
		d.mu.Lock()
		d.waits++
		d.mu.Unlock()
	}
}

// waiting reports whether a request to place or cancel an order waits before the
// door, whole.
func (d *door) waiting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits > 0
}

// let lets in a connection that was held.
func (d *door) let(c *heldConn) {
	d.mu.Lock()
	d.enters(c)
	d.mu.Unlock()
	d.hand(c)
}

func (d *door) enters(c net.Conn) {
	d.inside = append(d.inside, c)
	d.serves.Add(1)
}

func (d *door) hand(c net.Conn) {
	served := &servedConn{Conn: c, over: sync.OnceFunc(d.serves.Done)}
	select {
	case d.in <- served:
	case <-d.closed:
		_ = served.Close()
	}
}

// servedConn is a connection that the venue closes when it is done with the request.
type servedConn struct {
	net.Conn
	over func()
}

func (c *servedConn) Close() error {
	defer c.over()
	return c.Conn.Close()
}

// Accept returns the next connection that was let in.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.in:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// close shuts the door and cuts the connections that requests go over.
func (d *door) close() {
	d.mu.Lock()
	inside := d.inside
	d.shut, d.inside = true, nil
	d.mu.Unlock()
	for _, c := range inside {
		_ = c.Close() // also those that the server does not know yet
	}
}

// end shuts the door behind a killed program and returns when the venue is done with all that came in: it
// works on none of it when its faults are mended.
func (d *door) end() {
	d.close()
	d.serves.Wait()
}

// reopen opens the door, and returns what waited before it.
func (d *door) reopen() []*heldConn {
	d.drain()
	d.mu.Lock()
	defer d.mu.Unlock()
	held := d.held
	d.shut, d.held, d.waits = false, nil, 0
	return held
}

// drain waits until the connections that were made before have arrived at a door that is shut: what a program
// sent before it was killed must not come in after the door was opened.
func (d *door) drain() {
	last, err := new(net.Dialer).DialContext(context.Background(), "tcp", d.Listener.Addr().String())
	if err != nil {
		return // nobody listens any more
	}
	defer func() { _ = last.Close() }()
	for range 10_000 {
		d.mu.Lock()
		shut := d.shut
		at := slices.IndexFunc(d.held, func(h *heldConn) bool { return h.RemoteAddr().String() == last.LocalAddr().String() })
		if at >= 0 {
			d.held = slices.Delete(d.held, at, at+1)
		}
		d.mu.Unlock()
		if !shut || at >= 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// drop opens the door, and cuts what waited before it.
func (d *door) drop() {
	for _, c := range d.reopen() {
		_ = c.Close()
	}
}
