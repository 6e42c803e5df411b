package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
	"candela/lib/market"
)

// The processes of the push measurement: a server, ours or the bare hub, and its
// clients. Ten thousand connections take ten thousand file descriptors on either
// side, more than one process may have. A process is this test binary with a role
// in its environment; it reads its commands from lines on its standard input and
// answers by lines on its standard output.
const roleVariable = "CANDELA_TEST_PUSH_ROLE"

// playRole runs the role that the process was started for, if any.
func playRole() bool {
	role := strings.Fields(os.Getenv(roleVariable))
	if len(role) == 0 {
		return false
	}
	var err error
	switch role[0] {
	case "ours", "bare":
		err = serveRole(role[0], number(role[1]), number(role[2]))
	case "clients":
		err = clientsRole(role[1], number(role[2]), number(role[3]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// round is what a server measured of one event.
type round struct {
	P50, P99, Max time.Duration
	CPU           time.Duration // of the process, until the last write
	RSS           int           // KiB, afterwards
	Blocked       int           // writes to slow readers that have begun and not ended
	Ended         int           // writes to slow readers that have ended
}

// meter stamps every write of an event. Writes to slow readers, which come from
// an address of their own, are only counted.
type meter struct {
	net.Listener
	published atomic.Int64
	next      atomic.Int64 // place in took
	took      []int64      // nanoseconds from publishing to the end of the write
	stamped   atomic.Int64 // how many of them stand
	all       chan struct{}
	blocked   atomic.Int64
	ended     atomic.Int64
	small     bool // send buffers
}

const slowAddress = "127.0.0.2"

func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok && m.small {
		_ = tcp.SetWriteBuffer(4 << 10)
	}
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return &metered{conn, m, host == slowAddress}, nil
}

type metered struct {
	net.Conn
	m    *meter
	slow bool
}

func (c *metered) Write(p []byte) (int, error) {
	if c.slow {
		c.m.blocked.Add(1)
		n, err := c.Conn.Write(p)
		c.m.ended.Add(1)
		c.m.blocked.Add(-1)
		return n, err
	}
	if !bytes.Contains(p, []byte("data: ")) {
		return c.Conn.Write(p)
	}
	n, err := c.Conn.Write(p)
	took := time.Now().UnixNano() - c.m.published.Load()
	c.m.took[c.m.next.Add(1)-1] = took
	if c.m.stamped.Add(1) == int64(len(c.m.took)) {
		c.m.all <- struct{}{}
	}
	return n, err
}

// measure publishes and waits until every one of the fast clients was written to.
func (m *meter) measure(publish func()) round {
	before := processorTime()
	m.next.Store(0)
	m.stamped.Store(0)
	m.published.Store(time.Now().UnixNano())
	publish()
	<-m.all
	r := round{CPU: processorTime() - before, RSS: residentKiB(), Blocked: int(m.blocked.Load()), Ended: int(m.ended.Load())}
	took := slices.Clone(m.took)
	slices.Sort(took)
	at := func(share float64) time.Duration { return time.Duration(took[int(share*float64(len(took)-1))]) }
	r.P50, r.P99, r.Max = at(0.5), at(0.99), at(1)
	return r
}

func residentKiB() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	return number(fields[0])
}

// serveRole is a server for clients that all want every event, but for the last
// slow ones of ours, which want those of the symbol SLOW alone. Each line it
// reads names the symbol of an event to publish.
func serveRole(kind string, clients, slow int) error {
	var config net.ListenConfig
	ln, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m := &meter{Listener: ln, took: make([]int64, clients-slow), all: make(chan struct{}, 1), small: slow > 0}
	publish := serveBare
	if kind == "ours" {
		publish = serveOurs
	}
	fire, err := publish(m, clients, slow)
	if err != nil {
		return err
	}
	answer(map[string]string{"addr": ln.Addr().String()})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer(m.measure(func() { fire(lines.Text()) }))
	}
	return lines.Err()
}

func answer(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(data, '\n'))
}

// record is what an alert says when it fires, as long as it usually is.
func record(seq uint64) []byte {
	return fmt.Appendf(nil, `{"alert_id":"019c15a0-7c1e-7d4b-9f5e-%012d","symbol":"BTCUSDT","interval":"4h","condition":{"type":"indicator_signal",`+
		`"indicator":"wavetrend","signal":"cross_up_os"},"value":70012.25,"triggered_at":"2026-01-31T16:00:00.123Z","note":"take some profit"}`, seq)
}

// hub is what is measured against: a channel for each client and a bare handler
// that writes the same frames. Nobody leaves it, so it needs no map, in whose order
// neighbours in memory would not be served one after another.
type hub struct {
	mu      sync.Mutex
	clients []chan []byte
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ch := make(chan []byte, 16)
	h.mu.Lock()
	h.clients = append(h.clients, ch)
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case frame := <-ch:
			if _, err := w.Write(frame); err != nil {
				return
			}
			_ = flush.Flush()
		}
	}
}

func serveBare(ln net.Listener, _, _ int) (func(string), error) {
	h := &hub{}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(ln) }()
	seq := uint64(0)
	return func(string) {
		seq++
		frame := notify.NewEvent(seq, notify.AlertTriggered, record(seq)).Frame()
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, ch := range h.clients {
			ch <- frame
		}
	}, nil
}

// hashed looks tokens up as the authorization server does: by their SHA-256, in a
// map under a read lock. It holds more of them than that one lets in.
type hashed struct {
	mu     sync.RWMutex
	tokens map[oauth.Hash]principal.Caller
}

func (h *hashed) Authorize(_ context.Context, token string) (principal.Caller, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	caller, ok := h.tokens[oauth.HashOf(token)]
	if !ok {
		return principal.Caller{}, &fault.Error{Kind: fault.Unauthorized, Code: "invalid_token", Message: "unknown token"}
	}
	return caller, nil
}

func (h *hashed) Hold(ctx context.Context, _ principal.Caller) (held context.Context, release func(), err error) {
	held, cancel := context.WithCancelCause(ctx)
	return held, func() { cancel(nil) }, nil
}

func serveOurs(ln net.Listener, clients, slow int) (func(string), error) {
	log, err := local.Open(local.Config{Path: "subscriptions.json", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	tokens := &hashed{tokens: map[oauth.Hash]principal.Caller{}}
	var subscribed sync.WaitGroup
	failed := make(chan error, clients)
	for i := range clients {
		hash := oauth.HashOf(token(i))
		caller := principal.Caller{Subject: "owner", Key: hash.Hex(), Scope: principal.Trade, Expires: time.Now().Add(oauth.TokenTTL)}
		tokens.tokens[hash] = caller
		var f notify.Filter
		if i >= clients-slow {
			f.Symbols = []market.Symbol{{Name: "SLOW"}}
		}
		subscribed.Go(func() {
			if err := log.Subscribe(context.Background(), caller, f); err != nil {
				failed <- err
			}
		})
		if i%512 == 0 {
			subscribed.Wait()
		}
	}
	subscribed.Wait()
	if len(failed) > 0 {
		return nil, <-failed
	}
	go func() { _ = log.Run(context.Background()) }()
	dispatcher, err := mcp.NewServer(noTools{}, mcp.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	server, err := httpd.New(dispatcher, tokens, httpd.Config{
		BaseURL: base, Log: slog.New(slog.DiscardHandler), Streams: log, MaxConnections: 2 * clients, WriteTimeout: 10 * time.Minute,
	})
	if err != nil {
		return nil, err
	}
	go func() { _ = server.Serve(context.Background(), context.Background(), ln) }()
	seq := uint64(0)
	return func(symbol string) {
		seq++
		log.Append([]notify.Entry{{Seq: seq, Owner: "owner", Symbol: market.Symbol{Name: symbol}, Type: "price_above", At: time.Now(), Data: record(seq)}})
	}, nil
}

type noTools struct{}

func (noTools) Tools() []mcp.Tool { return nil }
func (noTools) Call(context.Context, principal.Caller, string, json.RawMessage) (mcp.Result, error) {
	return mcp.Result{}, nil
}

func token(i int) string { return "token-of-forty-three-characters-or-so-" + strconv.Itoa(i) }

// clientsRole holds connections open and reads them, but for the last slow ones. It
// says when all are connected, and then whenever the slowest of the fast ones got an
// event. It ends with an error when one of them gets another event than the next.
func clientsRole(addr string, clients, slow int) error {
	fast := clients - slow
	counts := make([]atomic.Int64, 64) // by how many events clients have; the rounds are far apart
	turn, failed := make(chan struct{}, 64), make(chan error, clients)
	var connected sync.WaitGroup
	for i := range clients {
		conn, err := connect(addr, i, i >= fast)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // one that nothing refers to would be closed before
		connected.Go(func() {
			lines := bufio.NewScanner(conn)
			if !lines.Scan() || lines.Text() != "HTTP/1.1 200 OK" {
				failed <- errors.Join(fmt.Errorf("client %d was answered with %q", i, lines.Text()), lines.Err())
				return
			}
			if i >= fast {
				return // and reads no more
			}
			go func() {
				failed <- listenFor(lines, func(n int64) {
					if counts[n%64].Add(1) == int64(fast) {
						counts[n%64].Store(0)
						turn <- struct{}{}
					}
				})
			}()
		})
	}
	connected.Wait()
	answer("connected")
	left := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(left)
	}()
	for {
		select {
		case <-turn:
			answer("received")
		case err := <-failed:
			return err
		case <-left:
			return nil
		}
	}
}

func connect(addr string, i int, slow bool) (net.Conn, error) {
	var dialer net.Dialer
	if slow {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(slowAddress)}
		dialer.Control = shrink
	}
	conn, err := dialer.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token(i))
	return conn, err
}

// listenFor reads events and counts them. The first has the id 1, and each the one
// after the former.
func listenFor(lines *bufio.Scanner, event func(n int64)) error {
	for n := int64(0); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			if n++; value != strconv.FormatInt(n, 10) {
				return fmt.Errorf("event %s came, want %d", value, n)
			}
		case "data":
			event(n)
		}
	}
	return errors.Join(errors.New("a stream ended"), lines.Err())
}
