package soak

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/e2e/build"
	"candela/e2e/remote"
	"candela/internal/store/replica/natstest"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
)

const passphrase = "correct-horse-of-the-soak"

// policy has nothing against what clients do here but what protects a position.
const policy = `max_orders_per_minute = "none"
max_open_orders = "none"
max_symbol_open_orders = "none"
max_order_notional = "none"
max_symbol_exposure = "none"
max_exposure = "none"
max_daily_notional = "none"
max_daily_loss = "none"
price_band_pct = 5
resting_band_pct = 20
max_quote_age = "1m"
max_clock_skew = "1m"
unprotected_grace = "1m"
`

// node is one candela, over all its lives.
type node struct {
	tb               testing.TB
	name, home, port string
	admin, log       string
	args, env        []string

	mu   sync.Mutex
	cmd  *exec.Cmd // nil while it does not run
	gone chan struct{}
}

func (n *node) start() {
	n.tb.Helper()
	file, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command(programs.Path(n.tb, build.Candela, ""), n.args...) //nolint:noctx // how it ends is what is tested
	cmd.Env, cmd.Stdout, cmd.Stderr = append([]string{"HOME=" + filepath.Dir(n.home)}, n.env...), file, file
	if err := cmd.Start(); err != nil {
		n.tb.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is seen in its log
		close(gone)
	}()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd, n.gone = cmd, gone
}

// end ends the program by a signal and waits for that.
func (n *node) end(s os.Signal) {
	n.mu.Lock()
	cmd, gone := n.cmd, n.gone
	n.cmd = nil
	n.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(s)
	select {
	case <-gone:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		<-gone
	}
}

// page reads a page of the admin listener.
func (n *node) page(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+n.admin+path, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(path + ": " + response.Status + " " + string(body))
	}
	return string(body), err
}

// ready waits until the program wants clients.
func (n *node) ready(ctx context.Context) bool {
	return within(ctx, 2*time.Minute, func() bool {
		_, err := n.page(ctx, "/readyz")
		return err == nil
	})
}

// command runs the program for one command of the owner.
func (n *node) command(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	path := programs.Path(n.tb, build.Candela, "") //nolint:contextcheck // it is built for all tests
	cmd := exec.CommandContext(ctx, path, append(args, "--home", n.home)...)
	cmd.Env = append([]string{"HOME=" + filepath.Dir(n.home)}, n.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// site is where the program runs: at one node, or as three replicas behind one address.
type site struct {
	tb    testing.TB
	nodes []*node
	base  string
	venue *binance.Server
	fake  string // the venue's address
	owner *remote.Owner
	nats  *natstest.Cluster // nil at one node
	real  bool              // it trades at the venue, not on paper
}

// newSite starts n nodes.
func newSite(tb testing.TB, n int, atVenue bool) *site {
	tb.Helper()
	s := &site{tb: tb, owner: &remote.Owner{Passphrase: passphrase}, real: atVenue}
	s.venue = binance.New(binance.Config{
		Seed: 1, Step: 100 * time.Millisecond, Limit: 10_000_000, Depth: decimal.NewFromInt(1000), Knows: func(string) bool { return true },
		Funds: map[string]decimal.Decimal{quote: decimal.NewFromInt(cashAtStart)},
	})
	venue := httptest.NewServer(s.venue)
	tb.Cleanup(venue.Close)
	s.fake = venue.URL
	var nats []string
	if n > 1 {
		servers, err := natstest.Start(build.Folder(tb), 3)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(servers.Stop)
		s.nats, nats = servers, []string{"--nats-url", servers.URL(), "--cluster-secret-file", natstest.SecretFile(tb)}
	}
	for i := range n {
		s.nodes = append(s.nodes, s.newNode(i, nats))
	}
	s.base = "http://localhost:" + s.nodes[0].port
	if n > 1 {
		s.base = s.balance()
		for _, one := range s.nodes {
			one.args = append(one.args, "--base-url", s.base, "--trusted-proxies", "127.0.0.0/8")
		}
	} else {
		s.nodes[0].args = append(s.nodes[0].args, "--persist-logins")
	}
	return s
}

// cashAtStart is what the account has of the quote currency.
const cashAtStart = 1_000_000

func (s *site) newNode(i int, nats []string) *node {
	s.tb.Helper()
	dir := build.Folder(s.tb)
	one := &node{tb: s.tb, name: "candela" + strconv.Itoa(i), home: filepath.Join(dir, "home"), port: porttest.Free(s.tb), admin: porttest.Free(s.tb), log: filepath.Join(dir, "log")}
	if *keep != "" {
		one.log = filepath.Join(*keep, s.tb.Name()+"-"+one.name+".log")
	}
	one.args = append([]string{
		"--serve", "--trade", "--home", one.home, "--port", one.port, "--admin-listen", "127.0.0.1:" + one.admin, "--toolsets", "account",
		"--binance-url", s.fake, "--paper-cash", quote + "=" + strconv.Itoa(cashAtStart),
	}, nats...)
	one.env = []string{"CANDELA_OWNER_PASSWORD=" + passphrase}
	if s.real {
		one.args = append(one.args, "--broker", "binance", "--binance-trade-url", s.fake)
		one.env = append(one.env, "CANDELA_BINANCE_API_KEY="+binance.Key, "CANDELA_BINANCE_API_SECRET="+binance.Secret)
	}
	if err := errors.Join(os.MkdirAll(one.home, 0o700), os.WriteFile(filepath.Join(one.home, "policy.toml"), []byte(policy), 0o600)); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		one.end(os.Kill)
		if text, err := os.ReadFile(one.log); err == nil && s.tb.Failed() {
			s.tb.Logf("the end of the log of %s:\n%s", one.name, text[max(0, len(text)-2000):])
		}
	})
	return one
}

// open starts the nodes and waits until they are ready.
func (s *site) open(ctx context.Context) {
	s.tb.Helper()
	for _, n := range s.nodes {
		n.start() //nolint:contextcheck // it runs until it is ended
	}
	for _, n := range s.nodes {
		if !n.ready(ctx) {
			s.tb.Fatalf("%s is not ready", n.name)
		}
	}
}

// balance shares requests among the nodes in turns, and returns its address. A request that
// could not be handed over goes to the next.
func (s *site) balance() string {
	s.tb.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetXForwarded()
			r.SetURL(&url.URL{Scheme: "http", Host: r.In.Host})
			r.Out.Host = r.In.Host
		},
		Transport: &balancer{nodes: s.nodes}, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // of streams that end with their replica
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	s.tb.Cleanup(server.Close)
	return "http://localhost:" + server.URL[strings.LastIndexByte(server.URL, ':')+1:]
}

// balancer hands requests to nodes.
type balancer struct {
	nodes []*node
	turn  atomic.Uint64
	http  http.Transport
}

// RoundTrip tries one node after the other until one is there.
func (b *balancer) RoundTrip(r *http.Request) (response *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	first := b.turn.Add(1)
	for i := range uint64(len(b.nodes)) {
		one := r.Clone(r.Context())
		one.URL.Host = "127.0.0.1:" + b.nodes[(first+i)%uint64(len(b.nodes))].port
		one.Body, one.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if response, err = b.http.RoundTrip(one); err == nil {
			return response, nil
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			return nil, err
		}
	}
	return nil, err
}

// within waits until something is so, and reports whether it came to that.
func within(ctx context.Context, limit time.Duration, done func() bool) bool {
	deadline := time.Now().Add(limit)
	for wait := 5 * time.Millisecond; !done(); wait = min(2*wait, 100*time.Millisecond) {
		if time.Now().After(deadline) || !pause(ctx, wait) {
			return false
		}
	}
	return true
}

// pause waits, and reports whether there is time left.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
