package binance_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestStream_SaysWhyItEnds goes through the ways in which the venue ends it.
func TestStream_SaysWhyItEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end   func(*venue.Server)
		after time.Duration
		says  string
	}{
		"a restart is announced": {func(s *venue.Server) { s.ShutdownNotice() }, 0, "about to restart"},
		"the subscription ends":  {func(s *venue.Server) { s.Terminate() }, 0, "has ended the stream"},
		"the connection is cut":  {func(s *venue.Server) { s.User.Drop() }, 0, "the stream was lost"},
		"the venue is wiped":     {func(s *venue.Server) { s.Wipe() }, 0, "the stream was lost"},
		"a day is over":          {func(*venue.Server) {}, 24*time.Hour - 10*time.Minute, "starts again"},
		"nonsense comes":         {func(s *venue.Server) { s.User.Announce(`{"event":{"e":"executionReport","E":1}}`) }, 0, "cannot be used"},
		"half a message comes":   {func(s *venue.Server) { s.User.Announce(`{"event":`) }, 0, "cannot be used"},
	} {
		within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
			t.Helper()
			s.User.Step = time.Minute // a day has too many seconds
			l := brokertest.Listen(t.Context(), b)
			<-l.Ready
			start := time.Now()
			tc.end(s)
			err := <-l.Done
			if f := fault.Of(err); f == nil || !strings.Contains(err.Error(), tc.says) || !f.Retryable && !strings.Contains(tc.says, "used") {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took != tc.after {
				t.Errorf("%s: after %v", name, took)
			}
		})
	}
}

func TestStream_IsRefused(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		if _, err := b.Holdings(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.SetSkew(time.Hour)
		l := brokertest.Listen(t.Context(), b)
		if err := <-l.Done; err == nil || !strings.Contains(err.Error(), "-1021") {
			t.Errorf("with a clock that is off: %v", err)
		}
		// The clock was doubted, so that the next one goes through.
		l = brokertest.Listen(t.Context(), b)
		select {
		case <-l.Ready:
		case err := <-l.Done:
			t.Error(err)
		}
		if err := l.End(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestStream_ALineThatIsDeadIsLost keeps the connection and sends not even pings.
func TestStream_ALineThatIsDeadIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		server := venue.New(venue.Config{})
		server.User.PingWait = 24 * time.Hour
		defer network.Serve(address, server)()
		l := brokertest.Listen(t.Context(), connect(t, network))
		<-l.Ready
		start := time.Now()
		if err := <-l.Done; err == nil || !strings.Contains(err.Error(), "silent") || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// mute is a venue that connects and answers nothing.
type mute struct{}

func (mute) Receive([]byte) [][]byte { return nil }
func (mute) Tick() [][]byte          { return nil }

func TestStream_ASubscriptionThatIsNotAnsweredIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), venue.New(venue.Config{})
		feed := fake.Feed{Step: time.Minute, PingWait: 20 * time.Second, MaxAge: time.Hour}
		defer network.Serve(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ws-api/v3" {
				feed.Serve(w, r, mute{})
				return
			}
			server.ServeHTTP(w, r)
		}))()
		l := brokertest.Listen(t.Context(), connect(t, network))
		start := time.Now()
		if err := <-l.Done; err == nil || !strings.Contains(err.Error(), "not answered") || time.Since(start) != 15*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestStream_ReportsOrders holds the reports of a cancel by somebody
// else, an expiry, and a word that nobody knows.
func TestStream_ReportsOrders(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		l := brokertest.Listen(t.Context(), b)
		<-l.Ready
		cancelled, expired, odd := spec(order.Buy, "0.01", "40000"), spec(order.Buy, "0.01", "41000"), spec(order.Sell, "0.01", "60000")
		for _, o := range []order.Spec{cancelled, expired, odd} {
			if _, err := b.Submit(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		s.Cancel(cancelled.ID)
		s.Expire(expired.ID)
		s.Call(odd.ID, "HIBERNATING")
		s.Place("theirs", "BTCUSDT", "SELL", decimal.New(1, -2), decimal.NewFromInt(70_000))
		synctest.Wait()
		_ = l.End()
		last := map[string]order.Report{}
		for len(l.Reports) > 0 {
			r := <-l.Reports
			last[r.ID] = r
		}
		for id, want := range map[string]order.Status{cancelled.ID: order.Canceled, expired.ID: order.Expired, odd.ID: order.Uncertain, "theirs": order.Accepted} {
			if got := last[id]; got.Status != want || got.Symbol != btc() || got.VenueID == "" || got.At.IsZero() {
				t.Errorf("%s: %+v, want status %d", id, got, want)
			}
		}
		if len(last) != 4 {
			t.Errorf("%d orders", len(last))
		}
	})
}

// books is what a caller knows who does as the contract says: fills counted once,
// unknown outcomes queried, reports that a lost stream missed read.
type books struct {
	fills  map[string]order.Fill
	cursor broker.Cursor
	status map[string]order.Status
}

func (k *books) take(r order.Report) {
	for _, f := range r.Fills {
		k.fills[f.TradeID] = f
	}
}

// read is a reconciliation: fills since the cursor.
func (k *books) read(ctx context.Context, b *binance.Broker) error {
	fills, next, err := b.Fills(ctx, btc(), k.cursor)
	if err != nil {
		return err
	}
	k.cursor = next
	for _, f := range fills {
		k.fills[f.TradeID] = f
	}
	return nil
}

// TestBroker_ADayOfFaults trades half an hour with every fault there is, and longer
// until enough has happened. In the end the caller knows what the venue knows, and no
// order was placed twice.
func TestBroker_ADayOfFaults(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](1, 3) {
		seed := longtest.Seed() + n
		synctest.Test(t, func(t *testing.T) {
			network := fake.NewNetwork()
			// Books so thin that most orders are filled in parts.
			server := venue.New(venue.Config{Seed: seed, Depth: decimal.New(2, -2)})
			defer network.Serve(address, server)()
			dayOfFaults(t, server, connect(t, network), rand.New(rand.NewPCG(seed, 7)))
		})
	}
}

func dayOfFaults(t *testing.T, s *venue.Server, b *binance.Broker, random *rand.Rand) {
	t.Helper()
	s.User.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.05})
	var faults []fake.Fault
	all := venue.OrderFaults()
	for _, name := range slices.Sorted(maps.Keys(all)) { // one order, so that a seed is one day
		if f := all[name]; f.RetryAfter == 0 {
			faults = append(faults, f)
		}
	}
	k := &books{fills: map[string]order.Fill{}, status: map[string]order.Status{}}
	l := brokertest.Listen(t.Context(), b)
	<-l.Ready
	asked := map[string]order.Spec{}
	unknown, lost := 0, 0
	enough := func() bool { return unknown >= 20 && lost >= 3 && len(k.fills) >= 50 }
	start := time.Now()
	for time.Since(start) < 30*time.Minute || !enough() && time.Since(start) < 24*time.Hour {
		time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
		synctest.Wait() // for the stream's reports, and for its end
		if random.IntN(3) == 0 {
			s.Next(faults[random.IntN(len(faults))])
		}
		if random.IntN(20) == 0 { // some twenty times
			s.User.Drop()
		}
		select {
		case <-l.Done:
			lost++
			l = brokertest.Listen(t.Context(), b)
			<-l.Ready
			if err := k.read(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		default:
		}
		for len(l.Reports) > 0 {
			k.take(<-l.Reports)
		}
		o := randomOrder(s, random)
		asked[o.ID] = o
		r, err := b.Submit(t.Context(), o)
		if errors.Is(err, broker.ErrUnknown) {
			unknown++
			time.Sleep(5 * time.Second) // the grace
			if r, err = b.Query(t.Context(), o.Handle()); errors.Is(err, broker.ErrNotFound) {
				err = broker.ErrRejected
			}
		}
		switch {
		case errors.Is(err, broker.ErrRejected), errors.Is(err, broker.ErrNotSent):
			k.status[o.ID] = order.Rejected
		case err != nil:
			t.Fatal(err)
		default:
			k.take(r)
			if random.IntN(2) == 0 {
				_, _ = b.Cancel(t.Context(), o.Handle())
			}
		}
	}
	s.Clear()
	_ = l.End()
	if err := k.read(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	compare(t, s, b, k, asked)
	t.Logf("%v: %d orders, %d unknown, %d streams lost, %d fills", time.Since(start), len(asked), unknown, lost, len(k.fills))
	if !enough() {
		t.Errorf("too little happened: %d unknown, %d streams lost, %d fills", unknown, lost, len(k.fills))
	}
}

func randomOrder(s *venue.Server, random *rand.Rand) order.Spec {
	quantity := decimal.NewFromInt(int64(20 + random.IntN(500))).Div(s.Price("BTCUSDT")).Round(5)
	o := spec(order.Side(1+random.IntN(2)), quantity.String(), "")
	if random.IntN(2) == 0 {
		o.Type, o.Price = order.Limit, s.Price("BTCUSDT").Mul(decimal.New(int64(9980+random.IntN(40)), -4)).Round(4)
	}
	return o
}

// compare holds the books against the venue's truth.
func compare(t *testing.T, s *venue.Server, b *binance.Broker, k *books, asked map[string]order.Spec) {
	t.Helper()
	trades := s.Trades()
	if len(trades) != len(k.fills) {
		t.Errorf("%d fills, the venue has %d", len(k.fills), len(trades))
	}
	for _, tr := range trades {
		f, ok := k.fills[strconv.FormatInt(tr.ID, 10)]
		if !ok || !f.Quantity.Equal(tr.Quantity) || !f.Price.Equal(tr.Price) || !f.Fee.Equal(tr.Fee) || f.FeeAsset != tr.FeeAsset ||
			f.VenueID != strconv.FormatInt(tr.OrderID, 10) || f.Maker != tr.Maker || f.At.UnixMilli() != tr.At.UnixMilli() {
			t.Errorf("trade %+v is known as %+v", tr, f)
		}
	}
	taken := map[string]int{}
	for _, o := range s.Orders() {
		taken[o.ClientID]++
		r, err := b.Query(t.Context(), asked[o.ClientID].Handle())
		if want := reportOf(o); err != nil || r.Status != want.Status || !r.Filled.Equal(want.Filled) || r.VenueID != want.VenueID {
			t.Errorf("%+v, %v, the venue has %+v", r, err, o)
		}
	}
	for id := range asked {
		if rejected := k.status[id] == order.Rejected; taken[id] > 1 || rejected == (taken[id] == 1) {
			t.Errorf("%s was taken %d times, and counts as rejected: %v", id, taken[id], rejected)
		}
	}
}
