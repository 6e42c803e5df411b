package inboxtest

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is an inbox with a clock that the test moves, and a file in its own folder.
type scene struct {
	*local.Inbox
	t    *testing.T
	path string
	now  time.Time
	seq  uint64
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, path: filepath.Join(t.TempDir(), "subscriptions.json"), now: time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)}
	s.reopen()
	return s
}

// reopen restarts from the file, like a new process.
func (s *scene) reopen() {
	s.t.Helper()
	log, err := local.Open(local.Config{Path: s.path, Now: func() time.Time { return s.now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Inbox = log
}

// next returns an entry with the next sequence number.
func (s *scene) next(symbol, kind string) notify.Entry {
	s.seq++
	return entry(s.seq, symbol, kind, s.now)
}

func entry(seq uint64, symbol, kind string, at time.Time) notify.Entry {
	parsed, err := market.ParseSymbol(symbol)
	if err != nil {
		panic(err)
	}
	return notify.Entry{Seq: seq, Owner: "owner", Symbol: parsed, Type: kind, At: at, Data: fmt.Appendf(nil, `{"alert_id":"a-%d"}`, seq)}
}

// entries returns the next n entries, on AAPL.
func (s *scene) entries(n int) []notify.Entry {
	all := make([]notify.Entry, n)
	for i := range all {
		all[i] = s.next("AAPL", "price_above")
	}
	return all
}

// fire appends entries, one commit each.
func (s *scene) fire(symbols ...string) {
	for _, symbol := range symbols {
		s.Append([]notify.Entry{s.next(symbol, "price_above")})
	}
}

func callerOf(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Key: "key of " + string(owner)}
}

func caller(key string) principal.Caller { return principal.Caller{Subject: "owner", Key: key} }

func (s *scene) subscribe(c principal.Caller, symbols ...string) {
	s.t.Helper()
	var f notify.Filter
	for _, symbol := range symbols {
		f.Symbols = append(f.Symbols, entry(0, symbol, "", s.now).Symbol)
	}
	if err := s.Subscribe(s.t.Context(), c, f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) open(c principal.Caller, last string) notify.Stream {
	s.t.Helper()
	stream, err := s.Open(s.t.Context(), c, last)
	if err != nil {
		s.t.Fatal(err)
	}
	return stream
}

// seqOf decodes the sequence number of a record.
func seqOf(t *testing.T, data []byte) uint64 {
	t.Helper()
	text := strings.TrimSuffix(strings.TrimPrefix(string(data), `{"alert_id":"a-`), `"}`)
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// ids decodes the sequence numbers of events.
func ids(t *testing.T, events []notify.Event) []uint64 {
	t.Helper()
	var out []uint64
	for _, e := range events {
		out = append(out, seqOf(t, e.Params()))
	}
	return out
}

func takeAll(t *testing.T, stream notify.Stream) []uint64 {
	t.Helper()
	var all []uint64
	for {
		events := stream.Take(nil)
		if len(events) == 0 {
			return all
		}
		all = append(all, ids(t, events)...)
	}
}

func (s *scene) wants(stream notify.Stream, want ...uint64) {
	s.t.Helper()
	if got := takeAll(s.t, stream); !slices.Equal(got, want) {
		s.t.Fatalf("stream delivered %v, want %v", got, want)
	}
}
