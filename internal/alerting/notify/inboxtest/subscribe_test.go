package inboxtest

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// token returns a token of client c that is valid for an hour.
func (s *scene) token(key string) principal.Caller {
	return principal.Caller{Subject: "owner", Key: key, ClientKey: "c", Expires: s.now.Add(time.Hour)}
}

func (s *scene) active(c principal.Caller) bool {
	s.t.Helper()
	got, err := s.Subscription(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return got.Active
}

func TestSubscription_IsInheritedByTheReturningClient(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		first, second principal.Caller
		restart       bool
		wait          time.Duration
		want          bool
	}{
		"the same client after a restart":         {principal.Caller{ClientKey: "c"}, principal.Caller{ClientKey: "c"}, true, 0, true},
		"the same client after its token expired": {principal.Caller{ClientKey: "c"}, principal.Caller{ClientKey: "c"}, false, time.Hour, true},
		"a second token while the first lives":    {principal.Caller{ClientKey: "c"}, principal.Caller{ClientKey: "c"}, false, 0, false},
		"another client after a restart":          {principal.Caller{ClientKey: "c"}, principal.Caller{ClientKey: "d"}, true, 0, false},
		"another owner's client":                  {principal.Caller{ClientKey: "c"}, principal.Caller{ClientKey: "c", Subject: "other"}, true, 0, false},
		"a client that is not known":              {principal.Caller{}, principal.Caller{}, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			for _, caller := range []*principal.Caller{&c.first, &c.second} {
				if caller.Subject == "" {
					caller.Subject = "owner"
				}
			}
			c.first.Key, c.first.Expires = "first", s.now.Add(time.Hour)
			c.second.Key, c.second.Expires = "second", s.now.Add(week)
			s.subscribe(c.first)
			all := s.entries(3)
			s.Append(all)
			if c.restart {
				s.reopen()
				s.Restore(3, all)
			}
			s.now = s.now.Add(c.wait)
			if got := s.active(c.second); got != c.want {
				t.Fatalf("inherited: %v, want %v", got, c.want)
			}
			if c.want && c.wait == 0 {
				s.wants(s.open(c.second, ""), 1, 2, 3)
			}
			if s.active(c.first) == c.want {
				t.Fatal("the first token's subscription is held by two tokens, or lost")
			}
		})
	}
}

func TestSubscription_LastSeenIsInheritedFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(s.token("old"), "AAPL")
	s.now = s.now.Add(time.Minute)
	s.subscribe(s.token("new"), "MSFT")
	s.reopen()
	for i, want := range []string{"MSFT", "AAPL", ""} {
		got, err := s.Subscription(t.Context(), s.token(fmt.Sprint("again-", i)))
		if err != nil || got.Active != (want != "") || got.Active && got.Filter.Symbols[0].Name != want {
			t.Fatalf("%d: %+v, %v, want %q", i, got, err, want)
		}
	}
}

// A subscription inherited by Subscribe keeps its backlog.
func TestSubscribe_InheritsTheBacklog(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.subscribe(s.token("first"), "AAPL")
	all := s.entries(2)
	s.Append(all)
	s.reopen()
	s.Restore(2, all)
	s.subscribe(s.token("second"), "MSFT")
	s.fire("AAPL", "MSFT")
	s.wants(s.open(s.token("second"), ""), 1, 2, 4)
}

func TestSubscribe_EvictsTheLongestUnseen(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.path = ""
	s.reopen()
	first := s.open(caller("key-0"), "")
	for i := range local.MaxSubscriptions {
		s.now = s.now.Add(time.Millisecond)
		s.subscribe(caller(fmt.Sprint("key-", i)))
	}
	s.subscribe(caller("one more"))
	for key, want := range map[string]bool{"key-0": true, "key-1": false, "key-2": true, "one more": true} {
		if s.active(caller(key)) != want {
			t.Errorf("%s is subscribed: %v", key, !want)
		}
	}
	first.Close()
}

// However many subscriptions an owner makes, no other owner loses one.
func TestSubscribe_EvictsNothingOfAnotherOwner(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	log, err := local.Open(local.Config{Now: func() time.Time { return s.now }, Log: slog.New(slog.DiscardHandler), OwnerSubscriptions: 3})
	if err != nil {
		t.Fatal(err)
	}
	s.Inbox = log
	s.subscribe(callerOf("ann"))
	for i := range 10 {
		s.now = s.now.Add(time.Millisecond)
		s.subscribe(caller(fmt.Sprint("key-", i)))
	}
	if !s.active(callerOf("ann")) {
		t.Error("the subscription of another owner is gone")
	}
	for i, want := range map[int]bool{6: false, 7: true, 9: true} {
		if key := fmt.Sprint("key-", i); s.active(caller(key)) != want {
			t.Errorf("%s is subscribed: %v", key, !want)
		}
	}
}

func TestSubscribe_RefusesWhenEveryoneIsConnected(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.path = ""
	s.reopen()
	for i := range local.MaxSubscriptions {
		c := caller(fmt.Sprint("key-", i))
		s.open(c, "")
		s.subscribe(c)
	}
	err := s.Subscribe(t.Context(), caller("one more"), notify.Filter{})
	if f := fault.Of(err); f == nil || f.Kind != fault.Unavailable || !f.Retryable {
		t.Fatalf("%v", err)
	}
	s.subscribe(caller("key-7"), "AAPL") // a change needs no free slot
}

func TestSubscription_MissingIsEmpty(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	stream := s.open(caller("k"), "")
	if got, _ := s.Subscription(t.Context(), caller("k")); got.Active || !got.Connected {
		t.Fatalf("%+v", got)
	}
	stream.Close()
	if got, _ := s.Subscription(t.Context(), caller("k")); got.Active || got.Connected {
		t.Fatalf("%+v", got)
	}
	if existed, err := s.Unsubscribe(t.Context(), caller("k")); existed || err != nil {
		t.Fatalf("%v, %v", existed, err)
	}
}
