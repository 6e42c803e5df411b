package replicatest

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Join adds a replica to the group of a prefix, on a connection of its own.
func Join(tb testing.TB, to *natstest.Cluster, prefix, name string) (*member.Group, *conn.Conn) {
	tb.Helper()
	conn := Connect(tb, to, prefix)
	m, err := member.Join(tb.Context(), conn, member.Info{Name: name}, Quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Close)
	m.Activate(tb.Context())
	return m, conn
}

// Agree waits until the replicas know exactly each other and agree on shard owners.
func Agree(tb testing.TB, members ...*member.Group) {
	tb.Helper()
	Eventually(tb, "the replicas agree on the group", func() bool {
		for _, m := range members {
			if m.Count() != len(members) {
				return false
			}
			for _, other := range members {
				if !m.Live(other.Self()) || !m.Candidates().Equal(other.Candidates()) {
					return false
				}
			}
		}
		return true
	})
}

// OwnedShard returns a shard that a replica owns.
func OwnedShard(tb testing.TB, m *member.Group) string {
	tb.Helper()
	for i := range 1000 {
		name := "name/" + strconv.Itoa(i)
		if _, mine := m.ShardOwner(name); mine {
			return name
		}
	}
	tb.Fatal("the replica owns nothing")
	return ""
}

// SuiteStore is a store for storetest.RunAlerts. Closing it does nothing: the test closes
// the connection.
type SuiteStore struct{ *alerts.Store }

// Close does nothing.
func (SuiteStore) Close() error { return nil }

// OpenStore opens the store of a prefix, on a connection of its own.
func OpenStore(tb testing.TB, to *natstest.Cluster, prefix string) *alerts.Store {
	tb.Helper()
	s, err := alerts.Open(tb.Context(), Connect(tb, to, prefix), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// PriceAlert returns an alert on a price, numbered.
func PriceAlert(i int) alert.Alert {
	now := time.Now()
	symbol := market.Symbol{Venue: "binance", Name: "S" + strconv.Itoa(i%7)}
	return alert.Alert{
		ID: id.New(now), Owner: "ann", Symbol: symbol, Instrument: symbol, Created: now,
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(int64(i + 1))},
	}
}

// OpenOrders becomes the order writer of a prefix, on a connection of its own.
func OpenOrders(tb testing.TB, to *natstest.Cluster, prefix string) *orders.Store {
	tb.Helper()
	o, err := orders.Open(tb.Context(), Connect(tb, to, prefix), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	o.SnapshotTimeout = Patience
	return o
}

// Ann returns a caller.
func Ann() principal.Caller { return principal.Caller{Subject: "ann"} }

// Placed is the events of an order before it is sent.
func Placed(owner principal.Owner, id string) []order.Event {
	at := time.Now().UTC()
	return []order.Event{
		{Kind: order.KindCreated, OrderID: id, At: at, Origin: &order.Origin{
			Spec: order.Spec{
				ID: id, Owner: owner, Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Limit,
				Quantity: decimal.RequireFromString("1000000.00000001"), Price: decimal.RequireFromString("0.00000000000000000001"),
			},
			Broker: "binance", Mode: order.Paper, Key: "key of " + id, Client: "a client",
		}},
		{Kind: order.KindSent, OrderID: id, At: at},
	}
}

// CloseOrders places ann's orders with the given numbers and rejects them.
func CloseOrders(tb testing.TB, o *orders.Store, from, to int) {
	tb.Helper()
	for i := from; i < to; i++ {
		id := "o" + strconv.Itoa(i)
		events := append(Placed("ann", id), order.Event{Kind: order.KindRejected, OrderID: id, At: time.Now().UTC()})
		if _, err := o.AppendEvents(tb.Context(), Ann(), events); err != nil {
			tb.Fatal(err)
		}
	}
}

// BookOf returns the book of all of ann's events.
func BookOf(tb testing.TB, o *orders.Store) *order.Book {
	tb.Helper()
	b := order.NewBook("ann")
	for e, err := range o.OrderEvents(tb.Context(), "ann") {
		if err = errors.Join(err, b.Apply(e)); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

// Journal is a stored journal, as the paper account uses it.
type Journal struct {
	*orders.Store
	Owner principal.Owner
	Name  string
}

// Append adds entries.
func (j Journal) Append(ctx context.Context, entries ...[]byte) error {
	return j.AppendJournal(ctx, j.Owner, j.Name, entries)
}

// Entries returns the entries.
func (j Journal) Entries(ctx context.Context) iter.Seq2[[]byte, error] {
	return j.Journal(ctx, j.Owner, j.Name)
}

// SaveSnapshot saves a snapshot.
func (j Journal) SaveSnapshot(ctx context.Context, value []byte) error {
	return j.SaveJournalSnapshot(ctx, j.Owner, j.Name, value)
}

// Snapshot returns the snapshot and the entries after it.
func (j Journal) Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	return j.JournalSnapshot(ctx, j.Owner, j.Name)
}

// OpenLogins opens the logins on a connection of its own.
func OpenLogins(tb testing.TB, to *natstest.Cluster, prefix string) *logins.Store {
	tb.Helper()
	return OpenLoginsAs(tb, to, prefix, oauthtest.Owner(tb))
}

// OpenLoginsAs opens the logins as a replica with that passphrase.
func OpenLoginsAs(tb testing.TB, to *natstest.Cluster, prefix string, owner *oauth.Passphrase) *logins.Store {
	tb.Helper()
	s, err := logins.Open(tb.Context(), Connect(tb, to, prefix), owner, oauth.OneOwner(oauth.MaxTokens), Quiet())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// IssueToken creates a token on a replica.
func IssueToken(tb testing.TB, s oauth.Store, name string, now time.Time) oauth.Token {
	tb.Helper()
	code := oauth.Code{Hash: oauth.HashOf("code " + name), Generation: s.Seal().Generation(), Expires: now.Add(time.Minute)}
	tok := oauth.Token{Hash: oauth.HashOf(name), ID: name, Grant: oauth.Grant{Subject: "ann"}, Expires: now.Add(time.Hour)}
	if err := s.PutCode(tb.Context(), code, now); err != nil {
		tb.Fatal(err)
	}
	if err := s.Redeem(tb.Context(), code.Hash, tok, now); err != nil {
		tb.Fatal(err)
	}
	return tok
}

// WaitEnded waits until a replica no longer accepts a token.
func WaitEnded(t *testing.T, s *logins.Store, tok oauth.Token, now time.Time) {
	t.Helper()
	Eventually(t, "the token is refused", func() bool {
		_, err := s.Token(t.Context(), tok.Hash, now)
		return errors.Is(err, oauth.ErrNotFound)
	})
}

// LookUp returns a token as a replica knows it, read from the servers if necessary.
func LookUp(tb testing.TB, s *logins.Store, tok oauth.Token, now time.Time) (oauth.Token, error) {
	tb.Helper()
	return Insist(tb, func() (oauth.Token, error) { return s.Token(tb.Context(), tok.Hash, now) })
}

// WriteSealed writes a message with any content, sealed like a replica's.
func WriteSealed(ctx context.Context, c *conn.Conn, stream, subject string, data []byte) error {
	_, err := c.Publish(ctx, c.StreamName(stream), conn.Change{Subject: subject, Data: data})
	return err
}

// Unseal returns the content of a stored message, nil if no replica sealed it.
func Unseal(ctx context.Context, c *conn.Conn, m *jetstream.RawStreamMsg) []byte {
	return c.Seals.Unseal(ctx, conn.Message{Subject: m.Subject, Data: m.Data, Seq: m.Sequence}, 0).Data
}

// Fire sets an alert and fires it.
func Fire(tb testing.TB, s *alerts.Store, i int) notify.Entry {
	tb.Helper()
	a := PriceAlert(i)
	ctx := context.WithoutCancel(tb.Context())
	if err := s.PutAlert(ctx, principal.Caller{Subject: "ann"}, a); err != nil {
		tb.Fatal(err)
	}
	entries, err := s.FireAlerts(ctx, []alert.Firing{{Alert: a, Value: 1, At: time.Now()}})
	if err != nil || len(entries) != 1 {
		tb.Fatalf("fired %v, %v", entries, err)
	}
	return entries[0]
}

// Answering returns a handler that replies with a text and the call's body.
func Answering(text string) member.Handler {
	return func(_ context.Context, body []byte) ([]byte, error) { return append([]byte(text), body...), nil }
}
