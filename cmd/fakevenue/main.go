// Command fakevenue serves a fake venue, so that candela runs without a network. Its
// prices are generated and belong to no market. It is never shipped.
//
//	fakevenue [-listen 127.0.0.1:9400] [-seed 1] [-fault NAME] [-step 2s] [-limit 6000] [-addresses 1] [-variety 0] VENUE
//	candela --symbol BTCUSDT --binance-url http://127.0.0.1:9400
//
// The fakes of Binance and Alpaca also have a trading account, with the keys in their
// packages, and under /fake/ functions that no venue has: their true state, faults of
// single orders, a reset. See control.go there.
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
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/fake/fakes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, fakes.All(), os.Args[1:], os.Stderr, nil)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakevenue:", err)
		os.Exit(1)
	}
}

// faults lists the faults of every request by name.
func faults() map[string]fake.Fault {
	return map[string]fake.Fault{
		"html": fake.Page(), "cut": fake.Truncated(), "half": fake.HalfJSON(), "mistyped": fake.Mistyped(), "hang": {Hang: true},
		"outage": {Status: http.StatusServiceUnavailable}, "region": binance.Restricted(),
		"throttle": binance.TooMany(http.StatusTooManyRequests, 30*time.Second), "ban": binance.TooMany(http.StatusTeapot, 2*time.Minute),
	}
}

// bent is a fake whose requests can be made to fail.
type bent interface{ Always(*fake.Fault) }

// run serves one of the fakes until ctx ends. It calls ready with the address it listens
// on.
func run(ctx context.Context, all []fakes.Fake, args []string, stderr io.Writer, ready func(address string)) error {
	flags := flag.NewFlagSet("fakevenue", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("listen", "127.0.0.1:9400", "address to listen on")
	seed := flags.Uint64("seed", 1, "seed of the prices")
	wrong := flags.String("fault", "", "fault of every request: "+strings.Join(slices.Sorted(maps.Keys(faults())), ", "))
	step := flags.Duration("step", 0, "time between two updates of a Binance stream; 0 is the default")
	limit := flags.Int("limit", 0, "weight per minute and address at Binance; 0 is the venue's")
	addresses := flags.Int("addresses", 1, "number of client addresses at Binance, each with its own limit")
	variety := flags.Int("variety", 0, "number of different prices at Binance; 0 gives every symbol its own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen := slices.IndexFunc(all, func(f fakes.Fake) bool { return f.Name == flags.Arg(0) })
	if chosen < 0 || flags.NArg() != 1 {
		return fmt.Errorf("name one venue of %s", strings.Join(fakes.Names(all), ", "))
	}
	venue := all[chosen].New(fakes.Options{Seed: *seed, Step: *step, Limit: *limit, Addresses: *addresses, Variety: *variety})
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
	log.InfoContext(ctx, "fake venue started", "venue", flags.Arg(0), "url", "http://"+listener.Addr().String())
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
