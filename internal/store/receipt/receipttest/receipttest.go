// Package receipttest has random orders, and verifies receipts with this program and the one in docs/receipts.md.
package receipttest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/receipt"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Order returns the events of a random order, in the commits that write them.
func Order(random *rand.Rand, owner principal.Owner, id string, at time.Time) [][]order.Event {
	btc := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	spec := order.Spec{ID: id, Owner: owner, Symbol: btc, Side: order.Buy, Type: order.Limit, Quantity: decimal.NewFromInt(4), Price: decimal.NewFromInt(100)}
	created := order.Event{Kind: order.KindCreated, OrderID: id, At: at, Origin: &order.Origin{Spec: spec, Broker: "paper", Mode: order.Paper, Policy: "sha256:1", Scope: "trade", Client: "Claude"}}
	fill := func(n int) order.Event {
		return order.Event{Kind: order.KindFill, OrderID: id, At: at, Fill: &order.Fill{TradeID: fmt.Sprintf("t-%s-%d", id, n), OrderID: id, Symbol: btc, Side: order.Buy, Price: decimal.NewFromInt(100), Quantity: decimal.NewFromInt(1), At: at}}
	}
	sent := order.Event{Kind: order.KindSent, OrderID: id, At: at}
	accepted := order.Event{Kind: order.KindAccepted, OrderID: id, At: at, VenueID: "v-" + id}
	asked := order.Event{Kind: order.KindApprovalAsked, OrderID: id, At: at, Approval: &order.Approval{Price: decimal.NewFromInt(100), Expires: at.Add(time.Hour)}}
	approved := order.Event{Kind: order.KindApproved, OrderID: id, At: at, Approval: &order.Approval{Price: decimal.NewFromInt(100), Expires: at.Add(time.Hour)}}
	switch random.IntN(7) {
	case 0:
		return [][]order.Event{{created, {Kind: order.KindDenied, OrderID: id, At: at, Denial: &order.Denial{Rule: "max_order_notional"}}}}
	case 1:
		return [][]order.Event{{created, sent}, {accepted}, {fill(1)}, {fill(2)}, {fill(3)}, {fill(4)}}
	case 2:
		return [][]order.Event{{created, sent}, {accepted}, {fill(1)}, {fill(2)}}
	case 3: // in part, then ended
		return [][]order.Event{{created, sent}, {accepted}, {fill(1)}, {{Kind: order.KindCanceled, OrderID: id, At: at}}}
	case 4:
		return [][]order.Event{{created, asked}, {approved, sent}, {accepted}, {fill(1)}, {fill(2)}}
	case 5:
		return [][]order.Event{{created, asked}, {{Kind: order.KindDenied, OrderID: id, At: at, Denial: &order.Denial{Rule: "approval"}}}}
	default:
		return [][]order.Event{{created, sent}, {accepted}}
	}
}

// Verify checks the text of a receipt.
func Verify(text []byte, keys receipt.Keys) error {
	d, err := receipt.Parse(text)
	if err == nil {
		_, err = receipt.Verify(d, keys)
	}
	return err
}

// Python runs the program of docs/receipts.md below a folder over receipts and returns for each whether it accepts it.
func Python(tb testing.TB, root string, keys receipt.Keys, texts [][]byte) []bool {
	tb.Helper()
	python := filepath.Join(root, ".bin", "python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		python = "python3" // of a machine on which the stage tools did not run
	}
	if err := exec.CommandContext(tb.Context(), python, "-c", "import cryptography").Run(); err != nil { //nolint:gosec // G204: the python of the tests
		tb.Skip("python3 with the package cryptography is not installed, see .ci/stage/tools: receipts are verified by this program alone")
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "receipts.md")) //nolint:gosec // G304: a page of ours
	check(tb, err)
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	dir := tb.TempDir()
	check(tb, os.WriteFile(filepath.Join(dir, "verify.py"), program[1], 0o600)) //nolint:gosec // G703: in a folder of the test
	for n, text := range texts {
		check(tb, os.WriteFile(filepath.Join(dir, strconv.Itoa(n)), text, 0o600))
	}
	const all = `import sys
code = compile(open(sys.argv[1] + "/verify.py").read(), "verify.py", "exec")
for n in range(int(sys.argv[2])):
    sys.argv = [sys.argv[0], sys.argv[1], sys.argv[2], sys.argv[3]]
    keep = list(sys.argv)
    sys.argv = ["verify.py", "%s/%d" % (keep[1], n), keep[3]]
    try:
        exec(code, {})
        print(1)
    except Exception:
        print(0)
    sys.argv = keep`
	out, err := exec.CommandContext(tb.Context(), python, "-c", all, dir, strconv.Itoa(len(texts)), base64.StdEncoding.EncodeToString(keys[len(keys)-1].Public)).Output() //nolint:gosec // G204: as above
	check(tb, err)
	lines := strings.Fields(string(out))
	if len(lines) != len(texts) {
		tb.Fatalf("%d answers for %d receipts", len(lines), len(texts))
	}
	found := make([]bool, len(lines))
	for n, line := range lines {
		found[n] = line == "1"
	}
	return found
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
