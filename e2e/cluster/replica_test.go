package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"candela/e2e/build"
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
	tags  string   // of the build
	flags []string // more of them
	env   []string
}

// newReplica prepares a replica at a place; venue is the address of the fake.
func newReplica(tb testing.TB, at *place, dir string, number int, base, venue, nats string, o options) *replica {
	tb.Helper()
	r := &replica{port: at.free(tb), admin: at.free(tb)}
	name := "candela" + strconv.Itoa(number)
	r.home = filepath.Join(dir, name)
	args := []string{
		"--serve", "--trade", "--home", r.home, "--port", r.port, "--admin-listen", "127.0.0.1:" + r.admin, "--base-url", base,
		"--trusted-proxies", "127.0.0.0/8", "--max-connections", "12000",
	}
	if venue != "" {
		args = append(args, "--binance-url", "http://127.0.0.1:"+at.carry(tb, venue))
	}
	if nats != "" {
		args = append(args, "--nats-url", nats)
	}
	r.process = newProcess(tb, name, dir, at, programs.Path(tb, build.Candela, o.tags), append(args, o.flags...)...)
	r.env = append([]string{"CANDELA_OWNER_PASSWORD=" + passphrase}, o.env...)
	r.backend = &backend{
		http: &http.Transport{
			MaxIdleConnsPerHost: 64, ResponseHeaderTimeout: 40 * time.Second,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return at.dial(ctx, r.port) },
		},
		health: r.ready,
	}
	return r
}

// ready asks the replica whether it wants clients.
func (r *replica) ready(ctx context.Context) bool { return r.ask(ctx, "/readyz") == nil }

// ask reads a page of the admin listener.
func (r *replica) ask(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+r.admin+path, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return r.at.dial(ctx, r.admin) },
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return nil
}
