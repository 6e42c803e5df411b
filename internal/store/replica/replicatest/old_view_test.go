package replicatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/orders"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/desk"
	"candela/lib/fault"
)

// old is a replica that no longer hears of what others write, as one that was stopped and goes on.
type old struct {
	*conn.Conn
	logins *logins.Store
	alerts *alerts.Store
}

func openOld(t *testing.T, c *conn.Conn) old {
	t.Helper()
	o := old{Conn: c}
	var err error
	if o.logins, err = logins.Open(t.Context(), c, oauthtest.Owner(t), oauth.OneOwner(oauth.MaxTokens), replicatest.Quiet()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.logins.Close)
	if o.alerts, err = alerts.Open(t.Context(), c, time.Now); err != nil {
		t.Fatal(err)
	}
	return o
}

// set tries to set an alert for the holder of a token.
func (o old) set(t *testing.T, i int, tok oauth.Token) error {
	t.Helper()
	return o.alerts.PutAlert(t.Context(), principal.Caller{Subject: "ann", Key: tok.Hash.Hex()}, replicatest.PriceAlert(i))
}

func (o old) stored(t *testing.T) (n int) {
	t.Helper()
	for _, err := range o.alerts.Alerts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// A replica that was stopped still holds tokens as valid that another one has revoked. It changes
// nothing for them.
func TestOldView_ChangesNothingForLoginsThatHaveEnded(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	other := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	one := openOld(t, replicatest.Connect(t, replicatest.Servers(), prefix))
	first, second := replicatest.IssueToken(t, other, "first", now), replicatest.IssueToken(t, other, "second", now)
	for _, tok := range []oauth.Token{first, second} {
		if _, err := replicatest.LookUp(t, one.logins, tok, now); err != nil {
			t.Fatal(err)
		}
		replicatest.Eventually(t, "the replica knows the token", func() bool {
			all, err := one.logins.Tokens(t.Context(), "ann", now)
			return err == nil && len(all) == 2
		})
	}
	one.logins.Close()
	if err := errors.Join(one.set(t, 1, first), one.set(t, 2, second)); err != nil {
		t.Fatal(err)
	}
	if err := other.Revoke(t.Context(), "ann", "first"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.logins.Token(t.Context(), first.Hash, now); err != nil {
		t.Fatalf("the replica has heard of it: %v", err)
	}
	if err := one.set(t, 3, first); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("an alert of a revoked token: %v", err)
	}
	if err := one.set(t, 4, second); err != nil {
		t.Errorf("an alert of another token: %v", err)
	}
	if _, err := other.RevokeAll(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if err := one.set(t, 5, second); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("an alert after all logins were revoked: %v", err)
	}
	if n := one.stored(t); n != 3 {
		t.Errorf("%d alerts are stored, want 3", n)
	}
	for _, key := range []string{"", "local", "console", "key of ann"} {
		if _, err := one.Confirm(t.Context(), principal.Caller{Subject: "ann", Key: key}); err != nil {
			t.Errorf("%q is no token: %v", key, err)
		}
	}
}

// A server that lags behind does not end a token.
func TestOldView_ALaggingServerEndsNoLogin(t *testing.T) {
	t.Parallel()
	now := time.Now()
	one := openOld(t, replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix()))
	tok := replicatest.IssueToken(t, one.logins, "first", now)
	replicatest.StaleReads(one.Conn, 1)
	if _, err := one.AwaitConfirmed(t.Context(), principal.Caller{Subject: "ann", Key: tok.Hash.Hex()}); err != nil {
		t.Error(err)
	}
}

// A replica that does not know that an owner is suspended changes nothing for the owner.
func TestOldView_ChangesNothingForSuspendedOwners(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	c := replicatest.ConnectMany(t, replicatest.Servers(), prefix)
	if _, err := ownerstore.Open(t.Context(), c, time.Now); err != nil {
		t.Fatal(err)
	}
	other, err := ownerstore.Open(t.Context(), replicatest.ConnectMany(t, replicatest.Servers(), prefix), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ann, bob := principal.Caller{Subject: "ann", Key: "console"}, principal.Caller{Subject: "bob", Key: "console"}
	for _, id := range []principal.Owner{"ann", "bob"} {
		if _, err := other.SeeOwner(t.Context(), owners.Owner{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, who := range []principal.Caller{ann, bob} {
		if _, err := c.AwaitConfirmed(t.Context(), who); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.SetOwnerState(t.Context(), "ann", owners.Suspended); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitConfirmed(t.Context(), ann); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("a suspended owner: %v", err)
	}
	if _, err := c.AwaitConfirmed(t.Context(), bob); err != nil {
		t.Errorf("another owner: %v", err)
	}
	if _, err := c.AwaitConfirmed(t.Context(), principal.Caller{Subject: "ann"}); err != nil {
		t.Errorf("what the program does by itself: %v", err)
	}
	if _, err := other.SetOwnerState(t.Context(), "ann", owners.Active); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitConfirmed(t.Context(), ann); err != nil {
		t.Errorf("after the suspension: %v", err)
	}
}

// A desk whose account another replica has taken over sends nothing more.
func TestOldView_AReplacedDeskSendsNothing(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	first := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	if _, err := first.Confirm(t.Context(), replicatest.Ann()); err != nil {
		t.Fatal(err)
	}
	second := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	if _, err := first.Confirm(t.Context(), replicatest.Ann()); !errors.Is(err, desk.ErrFenced) || fault.Of(err).Code != desk.CodeMoved {
		t.Errorf("the first: %v", err)
	}
	if _, err := second.Confirm(t.Context(), replicatest.Ann()); err != nil {
		t.Errorf("the second: %v", err)
	}
}

// An answer that arrives long after the question may be older than a revocation: the process may have
// been stopped meanwhile. It does not count.
func TestOldView_AnswersThatCameLateDoNotCount(t *testing.T) {
	t.Parallel()
	c, asked := replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix()), 0
	c.AddCheck(func(context.Context, principal.Caller) error {
		if asked++; asked == 1 {
			time.Sleep(1500 * time.Millisecond) // as a process that is stopped
		}
		return nil
	})
	if _, err := c.AwaitConfirmed(t.Context(), replicatest.Ann()); err != nil || asked < 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// Servers that are far away, or a busy machine, need a part of a second for each answer. A login is
// confirmed nevertheless: all questions are asked at once. One after the other, the first answer did not
// count any more when the last came, and no order was ever sent.
func TestOldView_SlowAnswersCount(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	proxy := replicatest.NewProxy(t, replicatest.Servers())
	one := openOld(t, replicatest.ConnectAt(t, proxy.URL, prefix))
	account, err := orders.Open(t.Context(), one.Conn, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	by := principal.Caller{Subject: "ann", Key: replicatest.IssueToken(t, one.logins, "far", now).Hash.Hex()}
	proxy.Delay(400 * time.Millisecond)
	began := time.Now()
	if _, err := account.Confirm(t.Context(), by); err != nil {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
