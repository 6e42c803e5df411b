// Package venuetest is what the tests of venues share that are reached over a
// network: a fake of the venue in virtual time, answers that must never become
// bars, and streams that must match what is read.
package venuetest

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	"candela/lib/fault"
	"candela/lib/market"
)

// URL is where the fake is.
const URL = "http://venue.test"

// Serve puts a fake at URL and returns a network that leads there.
func Serve(h http.Handler) (network *fake.Network, stop func()) {
	network = fake.NewNetwork()
	return network, network.Serve(strings.TrimPrefix(URL, "http://")+":80", h)
}

// Within runs fn in virtual time against a fake venue that has run for a while. Both
// sides are made there, because their clocks are.
func Within[S http.Handler, P io.Closer](t *testing.T, serve func() S, connect func(*upstream.Hosts) P, fn func(*testing.T, S, P)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := serve()
		network, stop := Serve(server)
		defer stop()
		p := connect(upstream.NewHosts(network.Dial))
		defer p.Close() //nolint:errcheck // it has nothing to report
		<-time.After(90 * time.Second)
		fn(t, server, p)
	})
}

// Fault is what a venue sends in place of bars, and the error that it must become.
type Fault struct {
	Sent fake.Fault
	Kind fault.Kind
	Code string
}

// BadAnswer is an answer that cannot be used.
func BadAnswer(sent fake.Fault) Fault { return Unavailable("bad_answer", sent) }

// Unavailable is an answer that says that there are no bars now.
func Unavailable(code string, sent fake.Fault) Fault { return Fault{sent, fault.Unavailable, code} }

// UnknownSymbol is an answer that says that there is no such symbol.
func UnknownSymbol(sent fake.Fault) Fault { return Fault{sent, fault.NotFound, "unknown_symbol"} }

// Faults returns those of every venue and those of one.
func Faults(own map[string]Fault) map[string]Fault {
	all := map[string]Fault{
		"a page":          BadAnswer(fake.Page()),
		"a cut answer":    Unavailable("unavailable", fake.Truncated()),
		"half a document": BadAnswer(fake.HalfJSON()),
		"a wrong type":    BadAnswer(fake.Mistyped()),
		"an outage":       Unavailable("unavailable", fake.Fault{Status: http.StatusServiceUnavailable}),
	}
	maps.Copy(all, own)
	return all
}

// Check asks for bars while the venue sends the fault. The error names the venue and
// the symbol.
func (f Fault) Check(t *testing.T, name string, p provider.Provider, symbol market.Symbol) {
	t.Helper()
	page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: symbol, Interval: market.Minute1, Limit: 3})
	got := fault.Of(err)
	if got == nil || got.Kind != f.Kind || got.Code != f.Code || page.Bars.Len() != 0 {
		t.Fatalf("%s: %d bars, %v", name, page.Bars.Len(), err)
	}
	if !strings.Contains(got.Message, p.Name()) || !strings.Contains(got.Message, symbol.Name) {
		t.Errorf("%s: %q names not both venue and symbol", name, got.Message)
	}
}

// Streaming is a provider whose streams can be changed.
type Streaming interface {
	provider.Provider
	provider.Streamer
}

// EmitsWhatIsRead follows subscriptions for half an hour: the stream must keep the
// contract and send at least that share of the bars, and as they are read.
func EmitsWhatIsRead(t *testing.T, name string, p Streaming, subs []provider.Sub, share float64) {
	t.Helper()
	l := providertest.Listen(t.Context(), p, subs)
	<-time.After(31 * time.Minute)
	synctest.Wait()
	events, err := l.End()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%s: ends with %v", name, err)
	}
	if err := providertest.CheckEvents(subs, events); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if len(events) == 0 || events[0].Kind != provider.Alive {
		t.Errorf("%s: of %d events the first does not say that the subscriptions are in force", name, len(events))
	}
	for _, sub := range subs {
		closed := providertest.Closed(events, sub)
		// The bar in which the stream begins may not be whole.
		most := 31 * 60 / sub.Interval.Seconds()
		if want := float64(most-1) * share; float64(closed.Len()) < want || closed.Len() > int(most) {
			t.Errorf("%s: %v: %d bars closed, want %v to %d", name, sub, closed.Len(), want, most)
		}
		providertest.SameAsRead(t, p, sub, closed)
	}
}

// ChangesAndIsCut exchanges the first subscription for the others on a stream and
// then has it cut.
func ChangesAndIsCut(t *testing.T, p Streaming, subs []provider.Sub, cut func()) {
	t.Helper()
	l := providertest.Listen(t.Context(), p, subs[:1])
	<-time.After(5 * time.Minute)
	l.Changes <- provider.Change{Add: subs[1:], Drop: subs[:1]}
	synctest.Wait()
	before := l.Seen()
	<-time.After(11 * time.Minute)
	synctest.Wait()
	cut()
	if err := <-l.Done; fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a cut stream ends with %v", err)
	}
	if err := providertest.CheckEvents(subs, l.Events); err != nil {
		t.Error(err)
	}
	for _, sub := range subs[1:] {
		if n := providertest.Closed(l.Events, sub).Len(); n < 1 {
			t.Errorf("%v: %d bars of what was added", sub, n)
		}
	}
	for _, e := range l.Events[before:] {
		if e.Sub == subs[0] {
			t.Errorf("after the drop came %+v", e)
		}
	}
}
