package provider_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a dialect of words: "+A" and "-A" begin and end, "ok" confirms, a name
// sends that bar at the time of the message.
type plain struct{}

func (plain) Key(_ context.Context, sub provider.Sub) (string, error) { return sub.Symbol.Name, nil }

func (plain) Requests(keys []string, begin bool) (messages [][]byte, confirmations int) {
	sign := "-"
	if begin {
		sign = "+"
	}
	for _, key := range keys {
		messages = append(messages, []byte(sign+key))
	}
	return messages, len(messages)
}

var errBroken = errors.New("broken")

func (plain) Handle(c *provider.StreamConn, message []byte) error {
	switch text := string(message); text {
	case "ok":
		return c.Confirm()
	case "alive":
		c.Alive()
		return nil
	case "ending":
		return c.Emit(provider.Event{Kind: provider.Ending, At: time.Now()})
	case "broken":
		return errBroken
	default:
		sub, ok := c.Sub(text)
		if !ok {
			return nil
		}
		at := time.Now()
		return c.Emit(provider.Event{Sub: sub, Kind: provider.Traded, Price: 1, At: at})
	}
}

func sub(name string) provider.Sub {
	return provider.Sub{Symbol: market.Symbol{Name: name}, Interval: market.Hour1}
}

// over runs fn with a stream to a server that answers each message as reply says.
func over(t *testing.T, reply func(message string) []string, subs []provider.Sub, fn func(changes chan<- provider.Change, heard func() string) error) error {
	t.Helper()
	var err error
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		defer network.Serve("venue.test:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, acceptErr := websocket.Accept(w, r, nil)
			if acceptErr != nil {
				return
			}
			defer conn.CloseNow() //nolint:errcheck // the test is over
			for {
				_, message, readErr := conn.Read(r.Context())
				if readErr != nil {
					return
				}
				for _, text := range reply(string(message)) {
					_ = conn.Write(r.Context(), websocket.MessageText, []byte(text))
				}
			}
		}))()
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		ctx, cancel := context.WithCancel(t.Context())
		changes, out, done := make(chan provider.Change), make(chan provider.Event, 1000), make(chan error, 1)
		wire := provider.StreamRunner{
			Venue: "there", Caps: provider.Caps{Intervals: []market.Interval{market.Hour1}, MaxSubs: 2}, Hosts: hosts, Now: time.Now,
			Socket: upstream.SocketConfig{URL: "ws://venue.test/", Idle: time.Hour}, MaxAge: 10 * time.Minute,
		}
		go func() { done <- wire.Run(ctx, plain{}, subs, changes, providertest.Into(out)) }()
		heard := func() string {
			time.Sleep(time.Minute)
			synctest.Wait()
			var said []string
			for len(out) > 0 {
				e := <-out
				said = append(said, [...]string{0: "?", provider.Traded: e.Symbol.Name, provider.Ending: "ending", provider.Alive: "alive"}[e.Kind])
			}
			return strings.Join(said, " ")
		}
		if fn != nil {
			err = fn(changes, heard)
			cancel()
		}
		err = errors.Join(err, <-done)
		cancel()
	})
	return err
}

func TestStreamRunner_EmitsOnlySubscribedBars(t *testing.T) {
	t.Parallel()
	// Bars that come before the last confirmation are not sent.
	answers := map[string][]string{"+A": {"A", "ok", "A"}, "+B": {"B", "ok", "A", "B", "alive"}, "-A": {"ok", "A", "B"}, "+C": {"ok", "C"}}
	err := over(t, func(m string) []string { return answers[m] }, []provider.Sub{sub("A"), sub("B"), sub("A")},
		func(changes chan<- provider.Change, heard func() string) error {
			if got := heard(); got != "alive A B alive" {
				t.Errorf("heard %q", got)
			}
			changes <- provider.Change{Drop: []provider.Sub{sub("A"), sub("Z")}, Add: []provider.Sub{sub("B"), sub("C")}}
			if got := heard(); got != "B C" {
				t.Errorf("after the change heard %q", got)
			}
			time.Sleep(10 * time.Minute)
			if got := heard(); got != "ending" {
				t.Errorf("of an old connection heard %q", got)
			}
			return nil
		})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ends with %v", err)
	}
}

func TestWire_Ends(t *testing.T) {
	t.Parallel()
	confirm := func(string) []string { return []string{"ok"} }
	for name, tc := range map[string]struct {
		reply  func(string) []string
		subs   []provider.Sub
		change *provider.Change
		kind   fault.Kind
		says   string
	}{
		"without subscriptions":            {confirm, nil, nil, fault.Invalid, "subscriptions is required"},
		"with an interval there is not":    {confirm, []provider.Sub{{Symbol: market.Symbol{Name: "A"}, Interval: market.Day1}}, nil, fault.Invalid, "an interval of there: 1h"},
		"with too many":                    {confirm, []provider.Sub{sub("A"), sub("B"), sub("C")}, nil, fault.Invalid, "at most 2"},
		"with too many after a change":     {confirm, []provider.Sub{sub("A")}, &provider.Change{Add: []provider.Sub{sub("B"), sub("C")}}, fault.Invalid, "at most 2"},
		"when nothing is confirmed":        {func(string) []string { return nil }, []provider.Sub{sub("A")}, nil, fault.Unavailable, "there: the subscriptions were not confirmed within 30s"},
		"when a message cannot be handled": {func(string) []string { return []string{"broken"} }, []provider.Sub{sub("A")}, nil, fault.Internal, "broken"},
	} {
		var fn func(chan<- provider.Change, func() string) error
		if tc.change != nil {
			fn = func(changes chan<- provider.Change, heard func() string) error {
				heard()
				changes <- *tc.change
				heard()
				return nil
			}
		}
		err := over(t, tc.reply, tc.subs, fn)
		if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
