package telegram

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"candela/internal/alerting/sink"
	"candela/internal/kit/secret"
)

// FuzzHandle holds that no update of a stranger is decided about, that the place in the list
// never goes back, and that nothing panics.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"update_id":5,"callback_query":{"id":"1","from":{"id":4242},"message":{"message_id":1,"chat":{"id":99}},"data":"y:a"}}`))
	f.Add([]byte(`{"update_id":5,"callback_query":{"from":{"id":4242}}}`))
	f.Add([]byte(`{"update_id":9223372036854775807}`))
	f.Add([]byte(`{"update_id":"x","callback_query":[]}`))
	f.Add([]byte(`{"update_id":9007199254740993,"callback_query":{"message":{"chat":{"id":-1}}}}`))
	r, err := New("https://api.telegram.org", group, secret.New(tokenText), false) // no press in a group is the owner's
	if err != nil {
		f.Fatal(err)
	}
	refuse := deciderFunc(func() { f.Error("a stranger decides") })
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &listener{Receiver: r, to: sink.Presses{Decider: refuse}, log: slog.New(slog.DiscardHandler), hard: t.Context(), offset: 3}
		if l.handle(t.Context(), data) || l.offset < 3 {
			t.Errorf("handled up to %d", l.offset)
		}
	})
}

type deciderFunc func()

func (d deciderFunc) Decide(context.Context, string, bool) (string, error) {
	d()
	return "", nil
}

// FuzzExplain holds that no description of a server brings the token into a reason.
func FuzzExplain(f *testing.F) {
	f.Add("Bad Request: "+tokenText, int64(0))
	f.Add("chat not found", int64(-5))
	r, err := New("https://api.telegram.org", owner, secret.New(tokenText), false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, description string, moved int64) {
		said := reply{Description: description}
		said.Parameters.MigrateTo = moved
		got := r.explain(http.StatusBadRequest, said)
		if len(got) > 1000 || r.secrets.Hide(got) != got && len([]rune(got)) <= 200 {
			t.Errorf("%q", got)
		}
	})
}
