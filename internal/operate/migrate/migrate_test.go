package migrate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/statedir"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// kept is everything that a side keeps, without the numbers, which are its own.
type kept struct {
	Alerts        []string
	Notifications []string
	Waiting       map[string][]string // of sinks: what they have not sent
	Marks         map[string]int64
	Events        map[principal.Owner][]string
	Journals      map[string][]string
	States        map[string]string
}

// look reads a side.
func look(t *testing.T, s side) kept {
	t.Helper()
	k := kept{Waiting: map[string][]string{}, Marks: map[string]int64{}, Events: map[principal.Owner][]string{}, Journals: map[string][]string{}, States: map[string]string{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for a, err := range s.Alerts(t.Context()) {
		must(err)
		k.Alerts = append(k.Alerts, fmt.Sprintf("%+v", a))
	}
	slices.Sort(k.Alerts)
	var entries []notify.Entry
	for e, err := range s.Entries(t.Context(), 0) {
		must(err)
		entries = append(entries, e)
		k.Notifications = append(k.Notifications, fmt.Sprintf("%s %v %s %v %s", e.Owner, e.Symbol, e.Type, e.At, e.Data))
	}
	cursors, err := s.Cursors(t.Context())
	must(err)
	for owner, readers := range cursors {
		for reader, next := range readers {
			rest := []string{}
			for i, e := range entries {
				if e.Seq >= next {
					rest = append(rest, k.Notifications[i])
				}
			}
			k.Waiting[string(owner)+" "+reader] = rest
		}
	}
	marks, err := s.Marks(t.Context())
	must(err)
	for sub, at := range marks {
		k.Marks[fmt.Sprint(sub)] = at
	}
	owners, err := s.OrderOwners(t.Context())
	must(err)
	for _, owner := range owners {
		for e, err := range s.OrderEvents(t.Context(), owner) {
			must(err)
			k.Events[owner] = append(k.Events[owner], fmt.Sprintf("%v %s %v %+v", e.Kind, e.OrderID, e.At, e.Reason))
		}
	}
	journals, err := s.Journals(t.Context())
	must(err)
	for owner, names := range journals {
		for _, name := range names {
			for e, err := range s.Journal(t.Context(), owner, name) {
				must(err)
				k.Journals[string(owner)+" "+name] = append(k.Journals[string(owner)+" "+name], string(e))
			}
		}
	}
	records, err := s.AllKept(t.Context())
	must(err)
	for owner, values := range records {
		for name, value := range values {
			k.States[string(owner)+" kept "+name] = string(value)
		}
	}
	states, err := s.States(t.Context())
	must(err)
	for owner, values := range states {
		for name, value := range values {
			k.States[string(owner)+" "+name] = string(value)
		}
	}
	return k
}

// stock says how much of everything a ledger has.
type stock struct {
	active, fired int // alerts
	orders        int // with two events, and two entries of a paper account each
}

// many is more of everything than is copied in one step. In the short form the steps
// are small.
func many() stock { return longtest.Pick(stock{12, 25, 13}, stock{1600, 800, 700}) }

// inSteps has a plan copy so little at a time that many has several steps.
func inSteps(how Plan) Plan {
	how.inOneWrite, how.atOnce = longtest.Pick(10, inOneWrite), longtest.Pick(5, atOnce)
	return how
}

// furnish puts something of everything into a ledger.
func furnish(t *testing.T, home string, has stock) {
	t.Helper()
	l := openLedger(t, home)
	ctx, at := t.Context(), time.Now().Add(-time.Hour).Truncate(time.Microsecond).UTC()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var fired []alert.Firing
	var putting sync.WaitGroup // together, they share commits
	n := has.active + has.fired
	for i := range n {
		owner := []principal.Owner{"owner", "another"}[i%2]
		a := alert.Alert{
			ID: fmt.Sprintf("alert-%d", i), Owner: owner, Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
			Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.RequireFromString("100.10")}, Created: at, Note: "a note <&> \u202e",
		}
		putting.Go(func() {
			if err := l.PutAlert(ctx, principal.Caller{Subject: owner, Key: "key"}, a); err != nil {
				t.Error(err)
			}
		})
		if (i+1)*has.fired/n > i*has.fired/n { // evenly among the others
			fired = append(fired, alert.Firing{Alert: a, Value: 101, At: at})
		}
	}
	putting.Wait()
	_, err := l.FireAlerts(ctx, fired)
	must(err)
	must(l.SaveCursors(ctx, "owner", map[string]uint64{"sink:webhook": 3, "sink:ntfy": uint64(len(fired)) + 1}))
	must(l.SaveMarks(ctx, map[provider.Sub]int64{
		{Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Interval: market.Hour1}: 1_800_000_000,
		{Symbol: market.Symbol{Venue: "kraken", Name: "ETHUSD"}}:                           1_800_000_060,
	}))
	must(l.Keep(ctx, "owner", "drawings", func([]byte) ([]byte, error) { return []byte(`{"binance:BTCUSDT":[]}`), nil }))
	must(l.SaveState(ctx, principal.Caller{Subject: "owner/alpaca-paper"}, "guard", []byte(`{"causes":[]}`)))
	var events []order.Event
	var journal [][]byte
	for i := range has.orders {
		id := fmt.Sprintf("order-%d", i)
		events = append(events, []order.Event{
			{Kind: order.KindCreated, OrderID: id, At: at, Origin: &order.Origin{Spec: order.Spec{
				ID: id, Owner: "owner", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.New(1, 0),
			}, Key: "key-" + id, Broker: "paper", Mode: order.Paper}},
			{Kind: order.KindDenied, OrderID: id, At: at, Reason: "no <&>"},
		}...)
		journal = append(journal, fmt.Appendf(nil, `{"n":%d,"text":"<&>"}`, 2*i), fmt.Appendf(nil, `{"n":%d,"text":"<&>"}`, 2*i+1))
	}
	_, err = l.AppendEvents(ctx, principal.Caller{Subject: "owner"}, events)
	must(err)
	must(l.AppendJournal(ctx, "owner", "paper", journal))
	must(l.Close())
}

func openLedger(t *testing.T, home string) *ledger.Ledger {
	t.Helper()
	if err := statedir.Open(home); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// mover migrates between state directories and one installation at the servers.
type mover struct {
	t      *testing.T
	url    string
	prefix string
	flags  []string
}

func newMover(t *testing.T) mover {
	t.Helper()
	servers, err := shared.Servers()
	if err != nil {
		t.Fatal(err)
	}
	return mover{t: t, url: servers.URL(), prefix: "t" + rand.Text()}
}

func (m mover) migrate(ctx context.Context, home string, how Plan) (map[string]Count, error) {
	m.t.Helper()
	args := []string{"--home", home, "--nats-url", m.url, "--nats-prefix", m.prefix, "--cluster-secret-file", natstest.SecretFile(m.t), "--log-level", "error"}
	cfg, err := config.Load(config.Input{Args: append(args, m.flags...), Inspect: true})
	if err != nil {
		m.t.Fatal(err)
	}
	how.Log, how.Store = quiet(), ledger.Descriptor()
	done, err := Run(ctx, cfg, how)
	counts := make(map[string]Count)
	for _, d := range done {
		counts[d.What] = d
	}
	return counts, err
}

// shared opens the side at the servers.
func (m mover) shared() side {
	m.t.Helper()
	conn, err := conn.ConnectWait(m.t.Context(), conn.Config{URL: m.url, Prefix: m.prefix, Secret: natstest.Secret()}, quiet())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(conn.Close)
	alerts, err := alerts.Open(m.t.Context(), conn, time.Now)
	if err != nil {
		m.t.Fatal(err)
	}
	orders, err := orders.Open(m.t.Context(), conn, time.Now)
	if err != nil {
		m.t.Fatal(err)
	}
	return sharedSide{alerts, orders}
}

// wantLike compares what two sides keep.
func wantLike(t *testing.T, want, got kept) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sides differ (-want +got):\n%s", diff)
	}
}

func lookAt(t *testing.T, home string) kept {
	t.Helper()
	l := openLedger(t, home)
	defer func() { _ = l.Close() }()
	return look(t, l)
}

// TestMigrate_ThereAndBackAgain copies to the servers, again, and into another state
// directory, and compares what there is.
func TestMigrate_ThereAndBackAgain(t *testing.T) {
	t.Parallel()
	m, home, other := newMover(t), filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "other")
	has := stock{20, 10, inOneWrite/2 + 10} // with more than one step
	furnish(t, home, has)
	const subscriptions = `{"version":1,"subscriptions":{` +
		`"aa":{"owner":"owner","client":"c","symbols":["BTCUSDT"],"alert_types":["price_above"],"since":2,"kept":[1],"expires":"2026-11-20T00:00:00Z","cursor":4,"seen":"2026-11-15T00:00:00Z"},` +
		`"bb":{"owner":"another","since":0,"expires":"2026-11-20T00:00:00Z","cursor":10,"seen":"2026-11-15T00:00:00Z"}},` +
		`"polling":{"owner":{"cursor":7,"back":[3,5]}}}`
	if err := os.WriteFile(filepath.Join(home, statedir.SubscriptionsName), []byte(subscriptions), 0o600); err != nil {
		t.Fatal(err)
	}
	want := lookAt(t, home)
	if len(want.Alerts) != 20 || len(want.Notifications) != 10 || len(want.Events["owner"]) != 2*has.orders || len(want.Waiting["owner sink:webhook"]) != 8 {
		t.Fatalf("the source has %d alerts, %d notifications, %d events", len(want.Alerts), len(want.Notifications), len(want.Events["owner"]))
	}
	counts, err := m.migrate(t.Context(), home, Plan{To: "nats"})
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{"alerts": 20, "notifications": 10, "events of orders": 2 * has.orders, "entries of paper accounts": 2 * has.orders, "states of accounts": 1, "places of sinks": 2, "marks of series": 2, "subscriptions and polling queues": 3} {
		if d := counts[what]; d.Found != n || d.Copied != n {
			t.Errorf("%s: %+v, want %d", what, d, n)
		}
	}
	wantLike(t, want, look(t, m.shared()))
	wantLike(t, want, lookAt(t, home))

	counts, err = m.migrate(t.Context(), home, Plan{To: "nats"})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"alerts", "notifications", "events of orders", "entries of paper accounts"} {
		if d := counts[what]; d.Copied != 0 {
			t.Errorf("a second time %s: %+v", what, d)
		}
	}
	wantLike(t, want, look(t, m.shared()))

	if _, err := m.migrate(t.Context(), other, Plan{To: "local"}); err != nil {
		t.Fatal(err)
	}
	wantLike(t, want, lookAt(t, other))
	// Both ledgers count from one, so that the numbers must be the same again.
	if got, err := os.ReadFile(filepath.Join(other, statedir.SubscriptionsName)); err != nil || string(got) != subscriptions {
		t.Errorf("the subscriptions came back as %s, %v", got, err)
	}
}

// TestMigrate_GoesOnAfterItWasInterrupted interrupts each kind of copying, both ways,
// and runs it again.
func TestMigrate_GoesOnAfterItWasInterrupted(t *testing.T) {
	t.Parallel()
	m, home, other := newMover(t), filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "other")
	furnish(t, home, many())
	want := lookAt(t, home)
	for _, leg := range []struct{ home, to string }{{home, "nats"}, {other, "local"}} {
		for _, what := range []string{"notifications", "events of orders", "entries of paper accounts", "alerts"} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := m.migrate(ctx, leg.home, inSteps(Plan{To: leg.to, Progress: func(now string, done, total int) {
				if now == what && done < total {
					cancel()
				}
			}}))
			cancel()
			if err == nil {
				t.Fatalf("to %s: %s were not interrupted", leg.to, what)
			}
		}
		if _, err := m.migrate(t.Context(), leg.home, Plan{To: leg.to}); err != nil {
			t.Fatal(err)
		}
	}
	wantLike(t, want, look(t, m.shared()))
	wantLike(t, want, lookAt(t, other))
}

// TestMigrate_GoesOnAfterAKill kills a process that migrates, at four places, and runs
// it again.
func TestMigrate_GoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	if args := os.Getenv("CANDELA_TEST_MIGRATE"); args != "" {
		migrateAsChild(t, strings.SplitN(args, " ", 4))
		return
	}
	m, home := newMover(t), filepath.Join(t.TempDir(), "home")
	furnish(t, home, many())
	want := lookAt(t, home)
	for _, what := range []string{"notifications", "events of orders", "entries of paper accounts", "alerts"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMigrate_GoesOnAfterAKill$")
		// Folders of a killed process are removed with those of this test.
		child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "CANDELA_TEST_MIGRATE="+strings.Join([]string{m.url, m.prefix, home, what}, " "))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		killed := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "progress "+what) && !killed {
				killed = child.Process.Kill() == nil
			}
		}
		if err := child.Wait(); err == nil || !killed {
			t.Fatalf("%s: the process was not killed: %v", what, err)
		}
	}
	if _, err := m.migrate(t.Context(), home, Plan{To: "nats"}); err != nil {
		t.Fatal(err)
	}
	wantLike(t, want, look(t, m.shared()))
}

// migrateAsChild migrates and says how far it is. Once it has begun with what the other
// process waits for it makes one step more and no other, so that it cannot be done before
// it is killed.
func migrateAsChild(t *testing.T, args []string) {
	t.Helper()
	m, last := mover{t: t, url: args[0], prefix: args[1]}, false
	_, err := m.migrate(t.Context(), args[2], inSteps(Plan{To: "nats", Progress: func(what string, done, total int) {
		if last {
			<-t.Context().Done()
		}
		if done < total {
			last = what == args[3]
			fmt.Fprintf(os.Stdout, "progress %s %d of %d\n", what, done, total)
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
}

// TestMigrate_RefusesWhatWouldMixTwoHistories lets both sides go on by themselves.
func TestMigrate_RefusesWhatWouldMixTwoHistories(t *testing.T) {
	t.Parallel()
	m, home := newMover(t), filepath.Join(t.TempDir(), "home")
	furnish(t, home, stock{2, 1, 3})
	if _, err := m.migrate(t.Context(), home, Plan{To: "nats"}); err != nil {
		t.Fatal(err)
	}
	// One ends here that is active there.
	l := openLedger(t, home)
	if err := l.CancelAlert(t.Context(), principal.Caller{Subject: "another"}, "alert-1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := m.migrate(t.Context(), home, Plan{To: "nats"})
	if f := fault.Of(err); f == nil || f.Code != "destination_differs" || !strings.Contains(f.Message, "1 active alerts") {
		t.Fatalf("got %v", err)
	}
	counts, err := m.migrate(t.Context(), home, Plan{To: "nats", Replace: true})
	if err != nil || counts["alerts"].Ended != 1 {
		t.Fatalf("%+v, %v", counts["alerts"], err)
	}
	wantLike(t, lookAt(t, home), look(t, m.shared()))
	// Another installation's orders are not ours.
	other := filepath.Join(t.TempDir(), "other")
	l = openLedger(t, other)
	if err := l.AppendJournal(t.Context(), "owner", "paper", [][]byte{[]byte(`{"n":"other"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.migrate(t.Context(), other, Plan{To: "local"}); fault.Of(err) == nil || fault.Of(err).Code != "destination_differs" {
		t.Errorf("got %v", err)
	}
}

// TestMigrate_RefusesBesideWhatRuns tries it beside an engine and beside a replica.
func TestMigrate_RefusesBesideWhatRuns(t *testing.T) {
	t.Parallel()
	m, home := newMover(t), filepath.Join(t.TempDir(), "home")
	furnish(t, home, stock{0, 1, 1})
	held, err := statedir.LockEngine(home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.migrate(t.Context(), home, Plan{To: "nats"}); !statedir.IsLocked(err) {
		t.Errorf("beside an engine: %v", err)
	}
	held.Release()
	conn, err := conn.ConnectWait(t.Context(), conn.Config{URL: m.url, Prefix: m.prefix, Secret: natstest.Secret()}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var log bytes.Buffer // read after Close, which writes last
	members, err := member.Join(t.Context(), conn, member.Info{Name: "the first"}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"nats", "local"} {
		if _, err := m.migrate(t.Context(), home, Plan{To: to}); fault.Of(err) == nil || fault.Of(err).Code != "replicas_run" || !strings.Contains(err.Error(), "the first") {
			t.Errorf("beside a replica: %v", err)
		}
	}
	members.Close()
	// One whose word of its end did not come through counts as killed, for half a minute.
	untold := strings.Contains(log.String(), "announcing departure failed")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-tick.C {
		_, err := m.migrate(t.Context(), home, Plan{To: "nats"})
		if err == nil {
			break
		}
		if f := fault.Of(err); !untold || f == nil || f.Code != "replicas_run" || time.Now().After(end) {
			t.Fatalf("after it has stopped: %v\n%s", err, log.String())
		}
	}
	for name, how := range map[string]Plan{"nowhere": {To: "elsewhere"}, "nobody": {}} {
		if _, err := m.migrate(t.Context(), home, how); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
