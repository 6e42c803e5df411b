package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"candela/internal/testkit/fake/fakes"
)

// ask runs the command and makes one request.
func ask(t *testing.T, path string, args ...string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	address, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, fakes.All(), append([]string{"-listen", "127.0.0.1:0"}, args...), io.Discard, func(a string) { address <- a })
	}()
	select {
	case err := <-done:
		t.Fatalf("%v: %v", args, err)
	case a := <-address:
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "Mozilla/5.0") // Yahoo answers browsers alone
		resp, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // it was only read
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		status, body = resp.StatusCode, string(data)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ends with %v", err)
		}
	}
	return status, body
}

func TestRun(t *testing.T) {
	t.Parallel()
	for venue, path := range map[string]string{
		"binance": "/api/v3/klines?symbol=SOLUSDT&interval=1h&limit=1", "coinbase": "/products/BTC-USD", "kraken": "/0/public/OHLC?pair=XBTUSD&interval=60",
		"yahoo": "/v8/finance/chart/AAPL?interval=1d&range=5d", "alpaca": "/fake/truth",
	} {
		if status, body := ask(t, path, venue); status != http.StatusOK || !strings.ContainsAny(body, "[{") {
			t.Errorf("%s: %d %s", venue, status, body)
		}
	}
	if status, body := ask(t, "/fake/truth", "binance"); status != http.StatusOK || !strings.Contains(body, `"orders":[]`) || !strings.Contains(body, "USDT") {
		t.Errorf("the truth of a fake venue: %d %s", status, body)
	}
	if status, _ := ask(t, "/api/v3/time", "-fault", "region", "binance"); status != http.StatusUnavailableForLegalReasons {
		t.Errorf("a region that is refused: %d", status)
	}
}

func TestRun_Refuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"nasdaq"}, {"binance", "kraken"}, {"-fault", "nosuch", "binance"}, {"-nosuch"}, {"-listen", "nowhere:x", "binance"}} {
		if err := run(t.Context(), fakes.All(), args, &bytes.Buffer{}, nil); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// TestRun_ServesAnAddedFake adds a fake with a line of the table.
func TestRun_ServesAnAddedFake(t *testing.T) {
	t.Parallel()
	toy := fakes.Fake{Name: "toy", New: func(fakes.Options) http.Handler { return http.NotFoundHandler() }}
	ctx, cancel := context.WithCancel(t.Context())
	if err := run(ctx, append(fakes.All(), toy), []string{"-listen", "127.0.0.1:0", "toy"}, io.Discard, func(string) { cancel() }); err != nil {
		t.Error(err)
	}
}
