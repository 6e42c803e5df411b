package orders

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asking is a program at a venue whose orders wait for the owner.
type asking struct {
	*scene
}

func newAsking(t *testing.T, at func(testing.TB, string) *venue) *asking {
	t.Helper()
	home := newHome(t)
	a := &asking{&scene{T: t, venue: at(t, home), home: home, reply: make(chan error, 1), tool: "place_order", rests: true}}
	file, err := os.OpenFile(filepath.Join(home, "policy.toml"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString("approval_above = 10\n"); err != nil {
		t.Fatal(err)
	}
	a.start()
	return a
}

// place places an order that waits, and returns its ID.
func (a *asking) place(more string) string {
	a.Helper()
	r := a.program.must("place_order", a.order(more))
	if r.isError || !strings.Contains(r.text, `"status":"pending_approval"`) {
		a.Fatal(r.text)
	}
	_, rest, _ := strings.Cut(r.text, `"order_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// owner runs a command of the owner.
func (a *asking) owner(want string, args ...string) {
	a.Helper()
	if out, err := run(a, append(args, "--home", a.home)...); !strings.Contains(out, want) {
		a.Errorf("candela %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// is waits until an order has a status.
func (a *asking) is(id, status string) {
	a.Helper()
	if !a.within(2*patience, func() bool {
		for _, o := range a.orders() {
			if o.ID == id {
				return o.Status == status
			}
		}
		return false
	}) {
		a.Fatalf("order %s did not become %s", id, status)
	}
}

// TestApproval kills the program while an order waits, and after the yes and before the
// order is sent. A yes sends an order once, and nothing is sent after a no or late.
func TestApproval(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(testing.TB, string) *venue{"binance": atBinance, "alpaca": atAlpaca} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsking(t, at)
			if r := a.program.must("place_order", a.order(`,"dry_run":true`)); r.isError || !strings.Contains(r.text, `"needs_approval":true`) {
				t.Errorf("the dry run: %s", r.text)
			}
			yes, no, late := a.place(key), a.place(`,"idempotency_key":"no"`), a.place(`,"idempotency_key":"late"`)
			a.program.kill()
			a.start()
			for _, id := range []string{yes, no, late} {
				a.owner(id, "approvals")
			}
			a.owner("was approved and is accepted", "approve", yes)
			a.owner("does not wait for approval: it is accepted", "approve", yes)
			a.owner("was refused; nothing was sent", "refuse", no, "--reason", "too large")
			if r := a.program.must("place_order", a.order(`,"idempotency_key":"no"`)); !r.isError || !strings.Contains(r.text, "owner_refused: The owner refused the order: too large") {
				t.Errorf("the client reads %s", r.text)
			}
			a.venue.close()
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = run(a, "approve", late, "--home", a.home)
			}()
			a.is(late, "submitted")
			a.program.kill()
			<-over
			for _, c := range a.venue.reopen() {
				_ = c.Close()
			}
			a.start()
			a.owner("No order needs approval.", "approvals")
			if *patient {
				a.is(late, "canceled")
			} else {
				a.is(late, "submitted")
			}
			if all := a.venue.orders(); len(all) != 1 || all[yes] != (count{1, 1}) {
				t.Errorf("the venue has %v, want %s", all, yes)
			}
		})
	}
}
