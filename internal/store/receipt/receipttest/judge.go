package receipttest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/store/receipt"
	"candela/lib/fault"
)

// Judge makes the receipt of each order that killed writers wrote and verifies it with this program and the one in docs/receipts.md below root.
// Only an order that was not acknowledged may be missing. Then it changes single bytes, of which both must refuse each.
func Judge(tb testing.TB, random *rand.Rand, w Written, root string, keys receipt.Keys, changes int, issue func(owner principal.Owner, id string) ([]byte, error)) {
	tb.Helper()
	var texts [][]byte
	missing, total := 0, 0
	for _, name := range slices.Sorted(maps.Keys(w.Owner)) {
		text, err := issue(w.Owner[name], name)
		if f := fault.Of(err); f != nil && f.Code == "order_not_found" && !w.Did[name] {
			missing++
			continue
		}
		check(tb, err)
		if err := Verify(text, keys); err != nil {
			tb.Errorf("order %s: %v", name, err)
		}
		texts, total = append(texts, text), total+len(text)
	}
	valid := len(texts)
	for range changes {
		text := append([]byte(nil), texts[random.IntN(valid)]...)
		at := random.IntN(len(text))
		text[at] ^= byte(1 + random.IntN(255)) //nolint:gosec // G115: 1 to 255
		if Verify(text, keys) == nil {
			tb.Errorf("byte %d changed to %q: the receipt is valid", at, text[at])
		}
		texts = append(texts, text)
	}
	for n, ok := range Python(tb, root, keys, texts) {
		if want := n < valid; ok != want {
			tb.Errorf("Python says %v of receipt %d", ok, n)
		}
	}
	tb.Logf("%d kills; %d receipts of %d orders verify, %d orders were never stored; %d bytes on average; %d changes of a byte are refused", w.Kills, valid, len(w.Did), missing, total/max(valid, 1), changes)
}
