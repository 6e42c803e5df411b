package owners_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/access/upstream"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/fault"
	"candela/lib/market"
)

// storedAlerts are the alerts of a store without an engine.
type storedAlerts struct{ kept *ledger.Ledger }

func (s storedAlerts) IDs(ctx context.Context, by principal.Caller) (all []string, err error) {
	for a, err := range s.kept.Alerts(ctx) {
		if err != nil {
			return nil, err
		}
		if a.Owner == by.Subject {
			all = append(all, a.ID)
		}
	}
	return all, nil
}

func (s storedAlerts) Cancel(ctx context.Context, by principal.Caller, id string) error {
	return s.kept.CancelAlert(ctx, by, id)
}

// TestDesk_SuspendsAndErasesOneOfTwo carries out an operator's commands: they end what one
// owner has, in memory and in the store, and touch nothing of another.
func TestDesk_SuspendsAndErasesOneOfTwo(t *testing.T) {
	t.Parallel()
	kept, err := ledger.Open(t.Context(), t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	memory := oauth.NewMemoryWithin(oauth.ManyOwners())
	logins, err := oauth.New(memory, oauthtest.Owner(t), oauth.Config{BaseURL: "http://127.0.0.1:1", Name: "candela", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	inbox := local.New(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	forget := func(_ context.Context, owner principal.Owner) error { return inbox.Forget(owner) }
	desk := owners.Desk{
		Records: func() owners.Records { return kept }, Logins: logins, Alerts: storedAlerts{kept},
		Forget: []func(context.Context, principal.Owner) error{forget},
	}
	for i, name := range []principal.Owner{ownerName(1), ownerName(2)} {
		by := callerOf(i + 1)
		h := oauth.HashOf(by.Key)
		if _, err := kept.SeeOwner(t.Context(), owners.Owner{ID: name, Email: string(name) + "@example.com"}); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			kept.PutAlert(t.Context(), by, alertOf(i+1)),
			inbox.Subscribe(t.Context(), by, notify.Filter{}),
			memory.PutToken(t.Context(), oauth.Token{Hash: h, Key: h.Hex(), ID: "t", Grant: oauth.Grant{Subject: name}, Generation: memory.Seal().Generation(), Expires: by.Expires}, time.Now()),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ann, bob := ownerName(1), ownerName(2)
	if _, err := desk.Erase(t.Context(), ann); fault.Of(err) == nil || fault.Of(err).Code != "owner_active" {
		t.Errorf("an active owner is erased: %v", err)
	}
	if o, err := desk.Suspend(t.Context(), ann); err != nil || o.State != owners.Suspended {
		t.Errorf("%+v, %v", o, err)
	}
	if one, err := desk.Show(t.Context(), ann); err != nil || one.Clients != 0 || one.Alerts != 1 {
		t.Errorf("suspended: %+v, %v", one, err)
	}
	proof, err := desk.Erase(t.Context(), ann)
	if err != nil || proof.Events == 0 {
		t.Errorf("%+v, %v", proof, err)
	}
	if found, _ := inbox.Subscription(t.Context(), callerOf(1)); found.Active {
		t.Error("the subscription is left")
	}
	if one, err := desk.Show(t.Context(), bob); err != nil || one.Clients != 1 || one.Alerts != 1 || one.State != owners.Active {
		t.Errorf("the other: %+v, %v", one, err)
	}
	if found, _ := inbox.Subscription(t.Context(), callerOf(2)); !found.Active {
		t.Error("the other's subscription is gone")
	}
	gate := owners.Gate{Records: func() owners.Records { return kept }}
	if _, err := gate.SignedIn(t.Context(), ann, upstream.Identity{}); !errors.Is(err, oauth.ErrErased) {
		t.Errorf("an erased owner signs in: %v", err)
	}
	for _, name := range []principal.Owner{bob, ownerName(3)} {
		before := gate.Active(t.Context(), name)
		as, err := gate.SignedIn(t.Context(), name, upstream.Identity{Email: "new@example.com"})
		if err := errors.Join(before, err, gate.Active(t.Context(), name)); err != nil || as != name {
			t.Errorf("%s is refused, or is %s: %v", name, as, err)
		}
	}
	if _, err := desk.Link(t.Context(), bob, "https://other.example.com", "b"); err != nil {
		t.Error(err)
	}
	if as, err := gate.SignedIn(t.Context(), ownerName(4), upstream.Identity{Issuer: "https://other.example.com", Subject: "b"}); err != nil || as != bob {
		t.Errorf("a linked person is %s: %v", as, err)
	}
	if _, err := desk.Suspend(t.Context(), ownerName(3)); err != nil || !errors.Is(gate.Active(t.Context(), ownerName(3)), oauth.ErrSuspended) {
		t.Errorf("a suspended owner is active: %v", err)
	}
	page, err := desk.List(t.Context(), "", owners.Filter{State: owners.Active, Plan: plan.Default}, 100)
	if err != nil || len(page.Owners) != 1 || page.More || page.Owners[0].ID != bob {
		t.Errorf("%+v, %v", page, err)
	}
	var text strings.Builder
	err = desk.Export(t.Context(), bob, func(row owners.ExportedRow) error { text.Write(row.JSON); return nil })
	if err != nil || !strings.Contains(text.String(), "alert_set") || strings.Contains(text.String(), string(ann)) {
		t.Errorf("%s, %v", text.String(), err)
	}
}

func ownerName(i int) principal.Owner { return principal.Owner(fmt.Sprintf("%026d", i)) }

func callerOf(i int) principal.Caller {
	return principal.Caller{Subject: ownerName(i), Key: fmt.Sprintf("%064d", i), ClientKey: fmt.Sprintf("%032d", i), Expires: time.Now().Add(time.Hour)}
}

func alertOf(owner int) alert.Alert {
	s := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	return alert.Alert{
		ID: id.New(time.Now()), Owner: ownerName(owner), Symbol: market.Symbol{Name: s.Name}, Instrument: s,
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(100_000, -2)}, Created: time.Now().UTC().Truncate(time.Microsecond),
	}
}
