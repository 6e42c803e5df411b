// Command fakevenue runs a fake venue by hand, so that candela can be tried
// without a network: prices move, are made up, and say nothing about any market.
// It is never shipped.
//
//	fakevenue [-listen 127.0.0.1:9400] [-seed 1] [-fault NAME] [-step 2s] [-limit 6000] [-addresses 1] VENUE
//	candela --symbol BTCUSDT --binance-url http://127.0.0.1:9400
//
// The fakes of Binance and Alpaca also have an account to trade on, with the keys
// in their packages, and under /fake/ what no venue offers: their own truth, faults
// of single orders, a wipe. See control.go there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/coinbase"
	"candela/internal/testkit/fake/kraken"
	"candela/internal/testkit/fake/yahoo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr, nil)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakevenue:", err)
		os.Exit(1)
	}
}

// faults are the ways in which every request fails, by name.
func faults() map[string]fake.Fault {
	return map[string]fake.Fault{
		"html": fake.Page(), "cut": fake.Truncated(), "half": fake.HalfJSON(), "mistyped": fake.Mistyped(), "hang": {Hang: true},
		"outage": {Status: http.StatusServiceUnavailable}, "region": binance.Restricted(),
		"throttle": binance.TooMany(http.StatusTooManyRequests, 30*time.Second), "ban": binance.TooMany(http.StatusTeapot, 2*time.Minute),
	}
}

// bent is a venue whose requests can be made to fail.
type bent interface{ Always(*fake.Fault) }

func venues(seed uint64, step time.Duration, limit, addresses int) map[string]http.Handler {
	// Any pair in these currencies is traded here.
	knows := func(s string) bool {
		return slices.ContainsFunc([]string{"USDT", "USDC", "BTC"}, func(q string) bool { return len(s) > len(q) && strings.HasSuffix(s, q) })
	}
	return map[string]http.Handler{
		"binance": binance.New(binance.Config{Seed: seed, Knows: knows, Step: step, Limit: limit, Addresses: addresses}), "coinbase": coinbase.New(coinbase.Config{Seed: seed}),
		"kraken": kraken.New(kraken.Config{Seed: seed}), "yahoo": yahoo.New(yahoo.Config{Now: time.Now, Seed: seed}),
		"alpaca": alpaca.New(alpaca.Config{Now: time.Now, Seed: seed, Partial: 0.1}),
	}
}

// run serves until ctx ends. It tells ready the address it listens on.
func run(ctx context.Context, args []string, stderr io.Writer, ready func(address string)) error {
	flags := flag.NewFlagSet("fakevenue", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("listen", "127.0.0.1:9400", "where to listen")
	seed := flags.Uint64("seed", 1, "what the prices are made of")
	wrong := flags.String("fault", "", "how every request fails: "+strings.Join(slices.Sorted(maps.Keys(faults())), ", "))
	step := flags.Duration("step", 0, "between two updates of a stream of Binance; 0 is the fake's own")
	limit := flags.Int("limit", 0, "of weight a minute for an address at Binance; 0 is the venue's own")
	addresses := flags.Int("addresses", 1, "that the clients of Binance come from, which it counts each for itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all := venues(*seed, *step, *limit, *addresses)
	venue, ok := all[flags.Arg(0)]
	if !ok || flags.NArg() != 1 {
		return fmt.Errorf("name one venue of %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	if *wrong != "" {
		fault, ok := faults()[*wrong]
		b, can := venue.(bent)
		if !ok || !can {
			return fmt.Errorf("fault %q is not one of -help, or %s has none", *wrong, flags.Arg(0))
		}
		b.Always(&fault)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *address)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	log.InfoContext(ctx, "a fake venue with made-up prices", "venue", flags.Arg(0), "url", "http://"+listener.Addr().String())
	if ready != nil {
		ready(listener.Addr().String())
	}
	server := &http.Server{Handler: venue, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
