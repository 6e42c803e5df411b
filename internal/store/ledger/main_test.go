package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/market"
)

// childVar names the directory in which the test binary, run once more, writes
// until it is killed.
const childVar = "CANDELA_LEDGER_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		fmt.Fprintln(os.Stderr, write(dir, os.Stdout))
		os.Exit(1)
	}
	if dir := os.Getenv(ordersVar); dir != "" {
		fmt.Fprintln(os.Stderr, writeOrders(dir, os.Stdout))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func owner() principal.Caller {
	return principal.Caller{Subject: "owner", Key: "key", Client: "client"}
}

func newAlert(threshold int64) alert.Alert {
	return alert.Alert{
		ID: id.New(time.Now()), Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(threshold, -2)}, Created: time.Now().UTC().Truncate(time.Microsecond),
	}
}

func firing(a alert.Alert) alert.Firing {
	return alert.Firing{Alert: a, Value: 1.5, At: a.Created.Add(time.Second)}
}

// write sets, fires and cancels alerts for as long as it lives. It says on out what
// it is about to do, and again when the store has acknowledged it: "try put ID",
// "did put ID". Each line is one system call, so a kill cuts between lines.
func write(dir string, out io.Writer) error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, dir, time.Now)
	if err != nil {
		return err
	}
	var active []alert.Alert
	for a, err := range l.Alerts(ctx) {
		if err != nil {
			return err
		}
		active = append(active, a)
	}
	for {
		what, batch := "put", []alert.Alert{newAlert(rand.Int64N(1e6))}
		if len(active) > 20 || len(active) > 3 && rand.IntN(2) == 0 {
			what = []string{"fire", "fire", "cancel"}[rand.IntN(3)]
			n := 1
			if what == "fire" {
				n += rand.IntN(3)
			}
			batch, active = active[:n], active[n:]
		}
		line := what + ids(batch) + "\n"
		if _, err := io.WriteString(out, "try "+line); err != nil {
			return err
		}
		switch what {
		case "put":
			err = l.PutAlert(ctx, owner(), batch[0])
			active = append(active, batch[0])
		case "cancel":
			err = l.CancelAlert(ctx, owner(), batch[0].ID)
		case "fire":
			var firings []alert.Firing
			for _, a := range batch {
				firings = append(firings, firing(a))
			}
			_, err = l.FireAlerts(ctx, firings)
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, "did "+line); err != nil {
			return err
		}
	}
}

func ids(alerts []alert.Alert) string {
	var text strings.Builder
	for _, a := range alerts {
		text.WriteString(" " + a.ID)
	}
	return text.String()
}

// model is what a writer that was cut off has been promised.
type model struct {
	state    map[string]string // "put", "fire" or "cancel" by alert, as acknowledged
	doubtful map[string]string // what was under way when the writer died
}

func newModel() *model {
	return &model{state: make(map[string]string), doubtful: make(map[string]string)}
}

// hear reads what a writer said.
func (m *model) hear(lines io.Reader) int {
	heard := 0
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		words := strings.Fields(scan.Text())
		if len(words) < 3 {
			continue // cut in the middle
		}
		for _, id := range words[2:] {
			if len(id) != 36 {
				continue
			}
			if words[0] == "try" {
				m.doubtful[id] = words[1]
				continue
			}
			heard++
			m.state[id] = words[1]
			delete(m.doubtful, id)
		}
	}
	return heard
}

// check opens the store that a writer left behind and holds it against the model.
// A write in progress may or may not have happened.
func (m *model) check(t *testing.T, dir string) {
	t.Helper()
	l, err := ledger.Open(t.Context(), dir, time.Now)
	if err != nil {
		t.Fatalf("the store does not open: %v", err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := make(map[string]string)
	for a, err := range l.Alerts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found[a.ID] = "put"
	}
	last := uint64(0)
	for e, err := range l.Entries(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(e.Data), `"alert_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if found[id] != "" {
			t.Errorf("alert %s fired and is also %s", id, found[id])
		}
		if e.Seq != last+1 {
			t.Errorf("notification %d follows %d", e.Seq, last)
		}
		last, found[id] = e.Seq, "fire"
	}
	for id, want := range m.state {
		got := found[id]
		if got == "" {
			got = "cancel"
		}
		if try := m.doubtful[id]; got != want && got != try {
			t.Errorf("alert %s: acknowledged %q, under way %q, found %q", id, want, try, got)
		}
	}
	for id := range found {
		if m.state[id] == "" && m.doubtful[id] == "" {
			t.Errorf("alert %s came from nowhere", id)
		}
	}
	m.state, m.doubtful = found, make(map[string]string)
	verified(t, dir)
}

// verified demands an unbroken audit log.
func verified(t *testing.T, dir string) ledger.Report {
	t.Helper()
	report := verify(t, dir)
	for _, b := range report.Breaks {
		t.Error(b)
	}
	return report
}

func verify(t *testing.T, dir string) ledger.Report {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := log.Verify(t.Context())
	if err != nil {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	return report
}
