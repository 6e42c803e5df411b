package binance_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/secret"
	"candela/internal/kit/sendby"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestSign_DocumentedVectors holds the signatures that the venue's documentation
// gives: of REST and of the WebSocket API, the second also beyond ASCII.
func TestSign_DocumentedVectors(t *testing.T) {
	t.Parallel()
	const key = "apiKey=vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A"
	for payload, want := range map[string]string{
		"symbol=LTCBTC&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000&timestamp=1499827319559":                                                      "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71",
		key + "&price=52000.00&quantity=0.01000000&recvWindow=100&side=SELL&symbol=BTCUSDT&timeInForce=GTC&timestamp=1645423376532&type=LIMIT":                                "aa1b5712c094bc4e57c05a1a5c1fd8d88dcd628338ea863fec7b88e59fe2db24",
		key + "&price=0.10000000&quantity=1.00000000&recvWindow=5000&side=BUY&symbol=\uff11\uff12\uff13\uff14\uff15\uff16&timeInForce=GTC&timestamp=1645423376532&type=LIMIT": "b33892ae8e687c939f4468c6268ddd4c40ac1af18ad19a064864c47bae0752cd",
	} {
		if got, err := binance.Sign(venue.Secret, payload); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", payload, got, err, want)
		}
	}
}

func privateKey(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestSign_AChangeArrivesInTime holds that the venue refuses what was allowed for a while and arrives
// later, and that this counts as not sent; other changes have the whole window.
func TestSign_AChangeArrivesInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), venue.New(venue.Config{})
		var windows []string
		under := time.Duration(0) // how long a change is under way
		defer network.Serve(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				windows = append(windows, r.URL.Query().Get("recvWindow"))
				time.Sleep(under)
			}
			server.ServeHTTP(w, r)
		}))()
		server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
		b := connect(t, network)
		place := func(ctx context.Context, id string) error {
			o := spec(order.Buy, "0.01", "")
			o.ID = id
			_, err := b.Submit(ctx, o)
			return err
		}
		for _, c := range []struct {
			id    string
			soon  bool
			under time.Duration
			late  bool
		}{
			{"any", false, 3 * time.Second, false},
			{"soon", true, 0, false},
			{"slow", true, 1500 * time.Millisecond, false},
			{"late", true, 1700 * time.Millisecond, true},
		} {
			under = c.under
			ctx := t.Context()
			if c.soon {
				ctx = sendby.With(ctx, time.Now().Add(900*time.Millisecond))
			}
			err := place(ctx, c.id)
			if !c.late && err != nil || c.late && (!errors.Is(err, sendby.ErrLate) || !errors.Is(broker.Outcome(err), broker.ErrNotSent)) {
				t.Errorf("%s: %v", c.id, err)
			}
		}
		if want := []string{"5000", "1600", "1600", "1600"}; !slices.Equal(windows, want) {
			t.Errorf("windows %q, want %q", windows, want)
		}
		if n := len(server.Orders()); n != 3 {
			t.Errorf("the venue has %d orders, want 3", n)
		}
	})
}

// TestSign_Ed25519 trades with a key of that kind: over REST and over the stream.
func TestSign_Ed25519(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), venue.New(venue.Config{Ed25519: public})
		defer network.Serve(address, server)()
		server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		b, err := binance.New(hosts, binance.Config{
			Environment: binance.Demo, URL: "http://binance.test/", Key: secret.New(venue.Key), Secret: secret.New(privateKey(t, private)),
		})
		if err != nil {
			t.Fatal(err)
		}
		l := brokertest.Listen(t.Context(), b)
		<-l.Ready
		if r, err := b.Submit(t.Context(), spec(order.Buy, "0.01", "")); err != nil || r.Status != order.Filled {
			t.Errorf("%+v, %v", r, err)
		}
		synctest.Wait()
		if _ = l.End(); len(l.Reports) < 2 {
			t.Errorf("%d reports", len(l.Reports))
		}
	})
}

func TestNew_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	right := binance.Config{Environment: binance.Testnet, Key: secret.New("key-of-mine"), Secret: secret.New("secret-of-mine")}
	if b, err := binance.New(upstream.NewHosts(nil), right); err != nil || b.Mode() != order.Paper || b.Name() != "binance" {
		t.Fatal(err)
	}
	right.Environment = binance.Live
	if b, err := binance.New(upstream.NewHosts(nil), right); err != nil || b.Mode() != order.Live {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*binance.Config)
		says   string
	}{
		"no environment":           {func(c *binance.Config) { c.Environment = "" }, "testnet, demo, live"},
		"no key":                   {func(c *binance.Config) { c.Key = secret.Text{} }, "no key"},
		"no secret":                {func(c *binance.Config) { c.Secret = secret.New(" \n") }, "no secret"},
		"half a private key":       {func(c *binance.Config) { c.Secret = secret.New("-----BEGIN PRIVATE KEY-----\nsecret-of-mine") }, "cannot be read"},
		"another private key":      {func(c *binance.Config) { c.Secret = secret.New(privateKey(t, rsaKey)) }, "Ed25519"},
		"an address that is none":  {func(c *binance.Config) { c.URL = "binance.test" }, "absolute URL"},
		"the exchange as testnet":  {func(c *binance.Config) { c.Environment, c.URL = binance.Testnet, "https://api3.binance.com" }, "live exchange"},
		"the exchange in capitals": {func(c *binance.Config) { c.Environment, c.URL = binance.Testnet, "https://API.Binance.COM" }, "live exchange"},
		"its full name":            {func(c *binance.Config) { c.Environment, c.URL = binance.Testnet, "https://api.binance.com." }, "live exchange"},
		"its sister":               {func(c *binance.Config) { c.Environment, c.URL = binance.Testnet, "https://api.binance.us" }, "live exchange"},
		"its stream as demo": {func(c *binance.Config) {
			c.Environment, c.StreamURL = binance.Demo, "wss://ws-api.binance.com:9443/ws-api/v3"
		}, "live exchange"},
	} {
		c := right
		tc.change(&c)
		_, err := binance.New(upstream.NewHosts(nil), c)
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "of-mine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecrets_AreNeverShown prints everything that can be printed, of errors too.
func TestSecrets_AreNeverShown(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		var shown strings.Builder
		log := slog.New(slog.NewJSONHandler(&shown, nil))
		c := binance.Config{Key: secret.New(venue.Key), Secret: secret.New(venue.Secret)}
		fmt.Fprintf(&shown, "%v %+v %#v %s", c, c, c, c)
		log.Info("config", "config", c, "broker", fmt.Sprintf("%v", c))
		faults := venue.OrderFaults()
		for _, name := range []string{"signature", "key", "reset", "timeout", "page", "no code", "hang"} {
			s.Next(faults[name])
			_, err := b.Submit(t.Context(), spec(order.Buy, "0.01", ""))
			fmt.Fprintf(&shown, "%v %+v %#v", err, err, err)
			for f := fault.Of(err); f != nil; f = fault.Of(f.Cause) {
				fmt.Fprintf(&shown, "%#v %s", f, f.Public())
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Always(&fake.Fault{Hang: true})
		_, err := b.Holdings(ctx)
		fmt.Fprintf(&shown, "%v %#v", err, err)
		for _, secret := range []string{venue.Key, venue.Secret, venue.Key[:12], venue.Secret[:12], "signature="} {
			if strings.Contains(shown.String(), secret) {
				t.Errorf("%s is shown in %s", secret, shown.String())
			}
		}
	})
}

// TestClock_FollowsTheVenue lets the venue's clock be off, and jump.
func TestClock_FollowsTheVenue(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		for _, skew := range []time.Duration{0, 90 * time.Second, -time.Hour} {
			s.SetSkew(skew)
			if got, err := b.Skew(t.Context()); err != nil || (got-skew).Abs() > time.Millisecond {
				t.Errorf("the skew is %v, %v, want %v", got, err, skew)
			}
			if _, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "")); err != nil {
				t.Errorf("with a skew of %v: %v", skew, err)
			}
		}
		// A read sets the clock by itself and asks again.
		s.SetSkew(time.Minute)
		if _, err := b.Holdings(t.Context()); err != nil {
			t.Errorf("a read after the clock jumped: %v", err)
		}
		// An order is never sent twice: it is refused, and the next one goes through.
		s.SetSkew(-time.Minute)
		before := len(s.Orders())
		_, err := b.Submit(t.Context(), spec(order.Buy, "0.001", ""))
		if f := fault.Of(err); f == nil || f.Code != "clock_skew" || !f.Retryable || len(s.Orders()) != before {
			t.Errorf("an order after the clock jumped: %v", err)
		}
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "")); err != nil {
			t.Errorf("the order after it: %v", err)
		}
		// A reading counts for ten minutes; when the next one fails, it still does.
		time.Sleep(11 * time.Minute)
		s.Next(fake.Fault{Status: http.StatusBadGateway, On: isTime}, fake.Fault{Status: http.StatusBadGateway, On: isTime}, fake.Fault{Status: http.StatusBadGateway, On: isTime})
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "")); err != nil {
			t.Errorf("with an old reading: %v", err)
		}
	})
}

func isTime(r *http.Request) bool { return r.URL.Path == "/api/v3/time" }
