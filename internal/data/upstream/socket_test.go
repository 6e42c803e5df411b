package upstream_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	"candela/lib/fault"
)

// talk runs fn with a socket whose other end is run by server.
func talk(t *testing.T, c upstream.SocketConfig, server func(context.Context, *websocket.Conn), fn func(*testing.T, *upstream.Socket)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		stop := network.Serve("venue.test:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer conn.CloseNow() //nolint:errcheck // the test is over
			server(r.Context(), conn)
		}))
		defer stop()
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		c.Venue, c.URL = "there", "ws://venue.test/stream"
		s, err := hosts.Dial(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		fn(t, s)
	})
}

// listen answers pings and hands messages on until the connection ends.
func listen(ctx context.Context, conn *websocket.Conn, got func(string)) {
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		got(string(message))
	}
}

func TestSocket_ASilentStreamIsLost(t *testing.T) {
	t.Parallel()
	pings := 0
	for name, tc := range map[string]struct {
		config upstream.SocketConfig
		pings  int
		after  time.Duration
	}{
		"without pings":         {upstream.SocketConfig{}, 0, time.Minute},
		"when the pings stop":   {upstream.SocketConfig{Quiet: time.Hour}, 5, 80*time.Second + time.Minute},
		"though it still pings": {upstream.SocketConfig{Quiet: 3 * time.Minute}, 60, 3 * time.Minute},
	} {
		server := func(ctx context.Context, conn *websocket.Conn) {
			_ = conn.Write(ctx, websocket.MessageText, []byte("{}"))
			ctx = conn.CloseRead(ctx)
			for range tc.pings {
				if conn.Ping(ctx) != nil {
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Second):
				}
			}
			<-ctx.Done()
		}
		tc.config.OnPing = func() { pings++ }
		talk(t, tc.config, server, func(t *testing.T, s *upstream.Socket) {
			t.Helper()
			if data, err := s.Read(t.Context()); err != nil || string(data) != "{}" {
				t.Fatalf("%s, %v", data, err)
			}
			begin := time.Now()
			_, err := s.Read(t.Context())
			if f := fault.Of(err); f == nil || !strings.HasPrefix(f.Message, "there: the stream was silent for ") || time.Since(begin) != tc.after {
				t.Errorf("%s: after %v: %v", name, time.Since(begin), err)
			}
		})
	}
	if pings < 10 {
		t.Errorf("%d pings were reported", pings)
	}
}

func TestSocket_ALongMessageIsRefused(t *testing.T) {
	t.Parallel()
	server := func(ctx context.Context, conn *websocket.Conn) {
		_ = conn.Write(ctx, websocket.MessageText, []byte(strings.Repeat("x", 5000)))
		listen(ctx, conn, func(string) {})
	}
	talk(t, upstream.SocketConfig{MaxBytes: 1000}, server, func(t *testing.T, s *upstream.Socket) {
		t.Helper()
		if _, err := s.Read(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestSocket_ServeReadsAndWritesUntilOneFails(t *testing.T) {
	t.Parallel()
	var sent []time.Time
	server := func(ctx context.Context, conn *websocket.Conn) {
		listen(ctx, conn, func(message string) {
			sent = append(sent, time.Now())
			_ = conn.Write(ctx, websocket.MessageText, []byte(message))
		})
	}
	broken := errors.New("broken")
	talk(t, upstream.SocketConfig{Spacing: 250 * time.Millisecond}, server, func(t *testing.T, s *upstream.Socket) {
		t.Helper()
		got := 0
		err := s.Serve(t.Context(), func(context.Context, []byte) error { got++; return nil }, func(ctx context.Context) error {
			for range 5 {
				if err := s.Send(ctx, []byte("hello")); err != nil {
					return err
				}
			}
			if err := s.Ping(ctx); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) || got != 5 {
			t.Errorf("%d echoes, %v", got, err)
		}
		for i := range sent[1:] {
			if gap := sent[i+1].Sub(sent[i]); gap < 250*time.Millisecond {
				t.Errorf("messages %d and %d are %v apart", i, i+1, gap)
			}
		}
	})
}

func TestSocket_ServeStopsItsWriter(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	server := func(ctx context.Context, conn *websocket.Conn) {
		_ = conn.Write(ctx, websocket.MessageText, []byte("x"))
		listen(ctx, conn, func(string) {})
	}
	for name, tc := range map[string]struct {
		handle func(context.Context, []byte) error
		want   error
	}{
		"when handling fails":    {func(context.Context, []byte) error { return broken }, broken},
		"when its context ended": {func(context.Context, []byte) error { return nil }, context.DeadlineExceeded},
	} {
		talk(t, upstream.SocketConfig{}, server, func(t *testing.T, s *upstream.Socket) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			stopped := false
			err := s.Serve(ctx, tc.handle, func(ctx context.Context) error {
				<-ctx.Done()
				stopped = true
				return ctx.Err()
			})
			if !errors.Is(err, tc.want) || !stopped {
				t.Errorf("%s: %v, the writer stopped: %v", name, err, stopped)
			}
		})
	}
}

func TestSocket_ALostStreamSaysSo(t *testing.T) {
	t.Parallel()
	server := func(_ context.Context, conn *websocket.Conn) { _ = conn.CloseNow() }
	talk(t, upstream.SocketConfig{}, server, func(t *testing.T, s *upstream.Socket) {
		t.Helper()
		_, err := s.Read(t.Context())
		if f := fault.Of(err); f == nil || f.Message != "there: the stream was lost" || !f.Retryable {
			t.Errorf("got %v", err)
		}
		if err := s.Send(t.Context(), []byte("x")); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("sending gives %v", err)
		}
		if err := s.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a ping gives %v", err)
		}
	})
}

func TestDial_HonoursARefusal(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := upstream.SocketConfig{Venue: "there", URL: "ws://venue.test/stream"}
		for i, wait := range []time.Duration{90 * time.Second, 60 * time.Second} {
			_, err := h.Dial(t.Context(), c)
			if f := fault.Of(err); f == nil || f.RetryAfter != wait || f.Code != "rate_limited" {
				t.Errorf("dial %d: %v", i, err)
			}
			time.Sleep(30 * time.Second)
		}
		if v.count() != 1 {
			t.Errorf("called %d times", v.count())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(time.Minute)
		if _, err := h.Dial(ctx, c); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that ended: %v", err)
		}
		c.URL = "ws://nowhere.test/"
		if _, err := h.Dial(t.Context(), c); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "refused") {
			t.Errorf("nobody there: %v", err)
		}
	})
}
