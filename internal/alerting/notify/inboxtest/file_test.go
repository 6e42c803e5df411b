package inboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestFile_SubscriptionSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(caller("local"), "BTCUSDT")
	all := []notify.Entry{s.next("binance:BTCUSDT", "price_above"), s.next("AAPL", "price_above")}
	s.reopen() // without a stop or a flush
	s.Restore(2, all)
	got, err := s.Subscription(t.Context(), caller("local"))
	if err != nil || !got.Active || got.Queued != 1 || got.Connected || !slices.Equal(got.Filter.Symbols, []market.Symbol{{Name: "BTCUSDT"}}) {
		t.Fatalf("%+v, %v", got, err)
	}
	s.wants(s.open(caller("local"), ""), 1)
	if _, err := s.Unsubscribe(t.Context(), caller("local")); err != nil {
		t.Fatal(err)
	}
	s.reopen()
	if got, _ := s.Subscription(t.Context(), caller("local")); got.Active {
		t.Fatalf("the unsubscription was lost: %+v", got)
	}
}

func TestFile_FormAndPermissions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	// A killed process left a temporary file.
	if err := os.WriteFile(s.path+".tmp", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := principal.Caller{Subject: "owner", Key: "5feceb66", Client: "Claude", ClientKey: "c1", Expires: s.now.Add(time.Hour)}
	s.subscribe(c, "binance:BTCUSDT")
	s.fire("binance:BTCUSDT")
	stream := s.open(c, "")
	s.wants(stream, 1)
	b, _ := s.poll("5feceb66")
	b.Settle(true)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"polling":{"owner":{"cursor":1}},"subscriptions":{"5feceb66":{"owner":"owner","client":"c1",` +
		`"symbols":["binance:BTCUSDT"],"since":0,"expires":"2026-01-31T17:00:00Z","cursor":1,"seen":"2026-01-31T16:00:00Z"}}}` + "\n"
	if string(data) != want {
		t.Errorf("the file is\n%s, want\n%s", data, want)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("readable by others: %v", info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), "*")); len(left) != 1 {
		t.Errorf("other files are left: %v", left)
	}
}

// logged is a log that can be read while it is written.
type logged struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

func openLogged(t *testing.T, path string) (*local.Inbox, *logged, error) {
	t.Helper()
	out := &logged{}
	log, err := local.Open(local.Config{Path: path, Now: time.Now, Log: slog.New(slog.NewTextHandler(out, nil))})
	return log, out, err
}

func TestFile_QuarantinesUnreadableFiles(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":                           "",
		"cut off":                         `{"version":1,"subscriptions":{"k":{"owner":"o"`,
		"not JSON":                        "\x00\x00\x00",
		"another form":                    `{"version":2,"subscriptions":{}}`,
		"without a version":               `{}`,
		"a subscription without owner":    `{"version":1,"subscriptions":{"k":{"since":1}}}`,
		"a symbol that is none":           `{"version":1,"subscriptions":{"k":{"owner":"o","symbols":["???"]}}}`,
		"places in the wrong order":       `{"version":1,"subscriptions":{"k":{"owner":"o","kept":[2,1]}}}`,
		"a polling queue without order":   `{"version":1,"polling":{"o":{"cursor":5,"back":[3,3]}}}`,
		"numbers that are not":            `{"version":1,"subscriptions":{"k":{"owner":"o","cursor":-1}}}`,
		"a polling queue of nobody":       `{"version":1,"polling":{"":{"cursor":5}}}`,
		"more than one after another":     `{"version":1}{"version":1}`,
		"a list":                          `[]`,
		"more kept than a queue may hold": `{"version":1,"subscriptions":{"k":{"owner":"o","kept":[` + strings.Repeat("1,", 1000) + `1]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "subscriptions.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			log, out, err := openLogged(t, path)
			if err != nil {
				t.Fatal(err)
			}
			aside, _ := filepath.Glob(path + ".bad-*")
			if len(aside) != 1 || !strings.Contains(out.String(), "level=ERROR") || !strings.Contains(out.String(), aside[0]) {
				t.Fatalf("quarantined as %q, logged %q", aside, out)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != content {
				t.Fatalf("quarantined content %q, %v", kept, err)
			}
			if err := log.Subscribe(t.Context(), caller("k"), notify.Filter{}); err != nil {
				t.Fatal(err)
			}
			if again, out, err := openLogged(t, path); err != nil || out.String() != "" {
				t.Fatalf("%v, %v, logged %q", again, err, out)
			}
		})
	}
}

func TestFile_UnreadableIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "subscriptions.json")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if log, _, err := openLogged(t, path); err == nil {
		t.Fatalf("opened %v", log)
	}
}

func cursorIn(t *testing.T, path, key string) uint64 {
	t.Helper()
	var f struct {
		Subscriptions map[string]struct{ Cursor uint64 }
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f.Subscriptions[key].Cursor
}

func TestRun_WritesBehindWithinASecondAndWhenItStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		s.subscribe(caller("k"))
		stream := s.open(caller("k"), "")
		s.fire("AAPL")
		s.wants(stream, 1)
		if got := cursorIn(t, s.path, "k"); got != 0 {
			t.Fatalf("each delivery writes the file: %d", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := cursorIn(t, s.path, "k"); got != 1 {
			t.Fatalf("the file has cursor %d after a second", got)
		}
		s.fire("AAPL")
		s.wants(stream, 2)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := cursorIn(t, s.path, "k"); got != 2 {
			t.Fatalf("the file has cursor %d after the stop", got)
		}
	})
}

func TestRun_LogsAFailedWriteOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "home")
		log, out, err := openLogged(t, filepath.Join(dir, "subscriptions.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Subscribe(t.Context(), caller("k"), notify.Filter{}); fault.KindOf(err) != fault.Unavailable || !fault.Of(err).Retryable {
			t.Fatalf("an unsaved subscription: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- log.Run(ctx) }()
		time.Sleep(10 * time.Second)
		if got := strings.Count(out.String(), "saving subscriptions failed"); got != 1 {
			t.Fatalf("logged %d times:\n%s", got, out)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := strings.Count(out.String(), "saving subscriptions recovered"); got != 1 {
			t.Fatalf("recovery logged %d times:\n%s", got, out)
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestRun_DropsExpiredSubscriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "subscriptions.json")
		log, _, err := openLogged(t, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"away", "here"} {
			if err := log.Subscribe(t.Context(), caller(key), notify.Filter{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Open(t.Context(), caller("here"), ""); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- log.Run(ctx) }()
		time.Sleep(8 * 24 * time.Hour)
		stop()
		<-done
		data, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(data), `"away"`) || !strings.Contains(string(data), `"here"`) {
			t.Fatalf("%s, %v", data, err)
		}
	})
}

// TestSubscribe_ManyAtOnceShareAWrite reconnects many clients at once: each waits until the file has
// its subscription, and few writes serve all.
func TestSubscribe_ManyAtOnceShareAWrite(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			c := caller("key-" + strconv.Itoa(i))
			if err := s.Subscribe(t.Context(), c, notify.Filter{}); err != nil {
				t.Error(err)
			}
			if data, err := os.ReadFile(s.path); err != nil || !bytes.Contains(data, []byte(`"`+c.Key+`"`)) {
				t.Errorf("%s is not in the file, %v", c.Key, err)
			}
		})
	}
	group.Wait()
}
