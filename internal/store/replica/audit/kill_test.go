package audit_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/store/receipt/receipttest"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/desk"
	"candela/lib/fault"
)

// writerVar is where the test binary, run once more, writes orders until it is killed: the servers, the prefix and a seed.
const writerVar = "CANDELA_ORDER_WRITER"

// Each prefix has orders of its own, because the receipt of an order reads those after it.
var (
	killedOrders   = flag.Int("killed-orders", longtest.Pick(30, 10_000), "how many orders killed writers place")
	ordersOfPrefix = flag.Int("killed-orders-together", 250, "and how many of them under one prefix")
)

// writeOrders writes orders for as long as it lives, whenever no other writer has taken over.
func writeOrders(at string, out io.Writer) error {
	var url, prefix string
	var seed uint64
	if _, err := fmt.Sscan(at, &url, &prefix, &seed); err != nil {
		return err
	}
	ctx, random := context.Background(), rand.New(rand.NewPCG(seed, 2))
	c, err := conn.Connect(ctx, conn.Config{URL: url, Prefix: prefix, AllowSingle: true, Secret: natstest.Secret()}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for {
		o, err := orders.Open(ctx, c, time.Now)
		if err == nil {
			err = o.RecordPolicy(ctx, []byte("{}"), "sha256:1")
		}
		if err == nil {
			err = receipttest.Write(ctx, o, random, out)
		}
		if !errors.Is(err, desk.ErrFenced) && fault.KindOf(err) != fault.Unavailable {
			return err
		}
		if err := retry.Sleep(ctx, time.Duration(100+random.IntN(900))*time.Millisecond); err != nil {
			return err
		}
	}
}

// TestReceipt_OfKilledReplicas has three processes write orders of every kind and take over from each other, and kills the one that writes, in the middle of
// it, again and again. A process without the stream makes the receipt of each order.
func TestReceipt_OfKilledReplicas(t *testing.T) {
	t.Parallel()
	random, runs := rand.New(rand.NewPCG(longtest.Seed(), 46)), 0
	for left := *killedOrders; left > 0; left -= *ordersOfPrefix {
		prefix := replicatest.NewPrefix()
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		w := receipttest.Kill(t, random, 3, min(left, *ordersOfPrefix), func(int) *exec.Cmd {
			runs++
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), writerVar+"="+fmt.Sprint(replicatest.Servers().URL(), " ", prefix, " ", 1000*longtest.Seed()+uint64(runs)))
			child.Stderr = os.Stderr
			return child
		})
		sound(t, c)
		receipttest.Judge(t, random, w, filepath.Join("..", "..", "..", ".."), keysOf(t, c), longtest.Pick(50, 100), func(owner principal.Owner, id string) ([]byte, error) {
			return issue(t, c, owner, id)
		})
	}
}
