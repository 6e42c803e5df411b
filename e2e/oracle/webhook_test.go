package oracle

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	official "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/webhook"
	"candela/internal/kit/secret"
)

// TestWebhook_AcceptedByTheOfficialVerifier sends 1,000 webhooks, signed with a new and an old secret, to a server that
// verifies each with either; one whose body was changed is refused.
func TestWebhook_AcceptedByTheOfficialVerifier(t *testing.T) {
	seed := rand.New(rand.NewPCG(1, 1))
	secrets := make([]string, 2)
	verifiers := make([]*official.Webhook, 2)
	for i := range secrets {
		key := make([]byte, 24+seed.IntN(41))
		for k := range key {
			key[k] = byte(seed.Uint32())
		}
		secrets[i] = "whsec_" + base64.StdEncoding.EncodeToString(key)
		var err error
		if verifiers[i], err = official.NewWebhook(secrets[i]); err != nil {
			t.Fatal(err)
		}
	}
	accepted := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		for _, v := range verifiers {
			if err := v.Verify(body, r.Header); err != nil {
				t.Errorf("%v: %s", err, body)
			}
			if v.Verify(append(body, ' '), r.Header) == nil {
				t.Error("a changed body is accepted")
			}
		}
		accepted++
	}))
	defer server.Close()
	to, err := webhook.New(server.URL, "standard", secret.New(strings.Join(secrets, "\n")), false)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for i := range 1000 {
		m := sink.Message{Now: time.Now(), Alert: &notify.Entry{Seq: uint64(i + 1), At: time.Now(), Data: fmt.Appendf(nil, `{"alert_id":"%d","note":%q}`, i, string(rune('a'+seed.IntN(500))))}}
		if i%7 == 0 {
			m.Alert = nil
		}
		if a := to.Send(t.Context(), m); a.Outcome != sink.Delivered {
			t.Fatalf("%+v", a)
		}
	}
	if accepted != 1000 {
		t.Errorf("%d webhooks were accepted, want 1000", accepted)
	}
}
