package records

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// said runs a command and returns what it printed, with the error.
func said(t *testing.T, run cli.Runner, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), cli.Call{Args: args, Deps: app.Deps{Stdout: &out, Stderr: &out}}); err != nil {
		out.WriteString(err.Error())
	}
	return out.String()
}

// recorded writes an order into a new store and returns the folder.
func recorded(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	l, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	spec := order.Spec{ID: "o1", Owner: "ann", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.NewFromInt(1)}
	_, err = l.AppendEvents(t.Context(), principal.Caller{Subject: "ann"}, []order.Event{{Kind: order.KindCreated, OrderID: "o1", At: time.Now(), Origin: &order.Origin{Spec: spec, Broker: "paper", Mode: order.Paper, Note: strings.Repeat("why ", 100)}}})
	if err = errors.Join(err, l.Seal(t.Context(), func(chain.Signed) {}), l.Close()); err != nil {
		t.Fatal(err)
	}
	return home
}

func TestAudit_SaysWhoseChainThereIs(t *testing.T) {
	t.Parallel()
	home := recorded(t)
	for owner, want := range map[string]string{"ann": "Owner ann: chain 1:", "eve": "Owner eve: no events in this log. candela audit list names owners as the log does."} {
		if got := said(t, Audit(), "verify", "--owner", owner, "--home", home); !strings.Contains(got, want) {
			t.Errorf("%s: %s", owner, got)
		}
	}
}

func TestAudit_ListCutsLongTexts(t *testing.T) {
	t.Parallel()
	home := recorded(t)
	if got := said(t, Audit(), "list", "--home", home); !strings.Contains(got, "…\n") || strings.Count(got, "why ") > 50 {
		t.Errorf("%s", got)
	}
	if got := said(t, Audit(), "list", "--json", "--home", home); strings.Count(got, "why ") != 100 {
		t.Errorf("%s", got)
	}
}

func TestReceipt_RefusalsSayWhyOnce(t *testing.T) {
	t.Parallel()
	home, file := recorded(t), filepath.Join(t.TempDir(), "receipt.json")
	if err := os.WriteFile(file, []byte(`{"receipt":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := said(t, Receipt(), "verify", file, "--home", home); !strings.Contains(got, file+" is refused: ") || strings.Count(got, "not a receipt") != 1 {
		t.Errorf("%s", got)
	}
	if got := said(t, Receipt(), "verify", file, "--home", t.TempDir()); !strings.Contains(got, "has no keys: name them with --key FILE or --url BASE") {
		t.Errorf("%s", got)
	}
}
