package ledger_test

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/internal/store/receipt/receipttest"
	"candela/internal/testkit/longtest"
)

// ordersVar names the directory in which the test binary, run once more, writes orders until it is killed, and seedVar what draws them.
const (
	ordersVar = "CANDELA_LEDGER_ORDERS"
	seedVar   = "CANDELA_LEDGER_SEED"
)

var killedOrders = flag.Int("killed-orders", longtest.Pick(150, 10_000), "how many orders killed writers place")

// writeOrders writes orders for as long as it lives.
func writeOrders(dir string, out io.Writer) error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, dir, time.Now)
	if err != nil {
		return err
	}
	if err := l.Seal(ctx, func(chain.Signed) {}); err != nil {
		return err
	}
	if err := l.RecordPolicy(ctx, []byte("{}"), "sha256:1"); err != nil {
		return err
	}
	seed, err := strconv.ParseUint(os.Getenv(seedVar), 10, 64)
	if err != nil {
		return err
	}
	return receipttest.Write(ctx, l, rand.New(rand.NewPCG(seed, 1)), out)
}

// TestReceipt_OfKilledWriters kills a process that writes orders of every kind, again and again, and makes the receipt of each order.
func TestReceipt_OfKilledWriters(t *testing.T) {
	t.Parallel()
	dir, random, runs := t.TempDir(), rand.New(rand.NewPCG(longtest.Seed(), 45)), 0
	w := receipttest.Kill(t, random, 1, *killedOrders, func(int) *exec.Cmd {
		runs++
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), ordersVar+"="+dir, seedVar+"="+strconv.Itoa(1000*int(longtest.Seed())+runs))
		child.Stderr = os.Stderr
		return child
	})
	verified(t, dir)
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	defer func() { check(t, log.Close()) }()
	issuer := receipt.Issuer{Source: log, Key: receipt.KeyIn(dir), Now: time.Now}
	receipttest.Judge(t, random, w, filepath.Join("..", "..", ".."), keysOf(t, dir), longtest.Pick(100, 1000), func(owner principal.Owner, id string) ([]byte, error) {
		made, err := issuer.Issue(t.Context(), owner, id)
		return made.Text, err
	})
}
