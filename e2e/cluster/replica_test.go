package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/internal/testkit/fake/binance"
)

const passphrase = "correct-horse-of-the-cluster"

// replica is one candela.
type replica struct {
	*process
	home, port, admin string
	backend           *backend
}

// options say how replicas run.
type options struct {
	flags []string // more of them
	env   []string
	trade bool // on the account that they have at the venue, not on paper
	// provider is the address of the identity provider of many owners, which is the same at every
	// place; "" for one owner.
	provider string
}

// newReplica prepares a replica at a place; venue is the address of the fake, nats the flags for the
// NATS servers, if there are any.
func newReplica(tb testing.TB, at *place, dir string, number int, base, venue string, nats []string, o options) *replica {
	tb.Helper()
	r := &replica{port: at.free(tb), admin: at.free(tb)}
	name := "candela" + strconv.Itoa(number)
	r.home = filepath.Join(dir, name)
	args := []string{
		"--serve", "--trade", "--home", r.home, "--port", r.port, "--admin-listen", "127.0.0.1:" + r.admin, "--base-url", base,
		"--trusted-proxies", "127.0.0.0/8", "--max-connections", "12000",
	}
	if venue != "" {
		url := "http://127.0.0.1:" + at.carry(tb, venue)
		args = append(args, "--binance-url", url)
		if o.trade {
			args = append(args, "--broker", "binance", "--binance-trade-url", url)
			o.env = append(o.env, "CANDELA_BINANCE_API_KEY="+binance.Key, "CANDELA_BINANCE_API_SECRET="+binance.Secret)
			r.allow(tb)
		}
	}
	if _, port, _ := net.SplitHostPort(o.provider); port != "" && at.hold != nil {
		at.carryAt(tb, port, o.provider)
	}
	args = append(args, nats...)
	r.process = newProcess(tb, name, dir, at, programs.Path(tb, build.Candela, ""), append(args, o.flags...)...)
	r.env = o.env
	if o.provider == "" {
		r.env = append([]string{"CANDELA_OWNER_PASSWORD=" + passphrase}, o.env...)
	}
	r.backend = &backend{
		http: &http.Transport{
			MaxIdleConnsPerHost: 64, ResponseHeaderTimeout: 40 * time.Second,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return at.dial(ctx, r.port) },
		},
		health: r.ready,
	}
	return r
}

// allow writes a policy by which the guard has nothing against small orders, however
// many they are and however late prices come on a busy machine.
func (r *replica) allow(tb testing.TB) {
	tb.Helper()
	const policy = `max_orders_per_minute = "none"
max_open_orders = "none"
max_symbol_open_orders = "none"
max_symbol_exposure = "none"
max_exposure = "none"
max_daily_notional = "none"
max_daily_loss = "none"
price_band_pct = "none"
resting_band_pct = "none"
max_quote_age = "1m"
max_clock_skew = "1m"
`
	if err := errors.Join(os.MkdirAll(r.home, 0o700), os.WriteFile(filepath.Join(r.home, "policy.toml"), []byte(policy), 0o600)); err != nil {
		tb.Fatal(err)
	}
}

// ready asks the replica whether it wants clients.
func (r *replica) ready(ctx context.Context) bool { return r.ask(ctx, "/readyz") == nil }

// ask asks for a page of the admin listener.
func (r *replica) ask(ctx context.Context, path string) error {
	_, err := r.read(ctx, path)
	return err
}

// read reads a page of the admin listener.
func (r *replica) read(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+r.admin+path, http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return r.at.dial(ctx, r.admin) },
	}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", path, response.Status)
	}
	page, err := io.ReadAll(response.Body)
	return string(page), err
}
