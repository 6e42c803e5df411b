package guard_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"candela/internal/trading/guard"
)

// TestCanonical_SaysWhatThePolicyMeans holds that the hash depends on what a file means, not on how it is written, and that
// the text has every rule.
func TestCanonical_SaysWhatThePolicyMeans(t *testing.T) {
	t.Parallel()
	hashes := make(map[string]string)
	for name, file := range map[string]string{
		"defaults":         "",
		"one order":        "max_order_notional = 500\nallowed_symbols = [\"BTCUSDT\", \"ETHUSDT\"]",
		"the other order":  "allowed_symbols = [\"ETHUSDT\", \"BTCUSDT\"] # both\nmax_order_notional = 500.0",
		"another limit":    "max_order_notional = 501\nallowed_symbols = [\"BTCUSDT\", \"ETHUSDT\"]",
		"another approval": "approval_above = 100",
		"an exception":     "[symbol.BTCUSDT]\nmax_order_notional = 7",
	} {
		p, err := guard.Parse([]byte(file), conditions)
		if err != nil {
			t.Fatal(name, err)
		}
		text, hash, err := guard.Canonical(p)
		if err != nil || hash != fmt.Sprintf("sha256:%x", sha256.Sum256(text)) {
			t.Fatalf("%s: %s, %v", name, hash, err)
		}
		var read struct {
			Rules []struct{ Name string }
		}
		if err := json.Unmarshal(text, &read); err != nil || len(read.Rules) != len(guard.Rules(p)) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
		hashes[name] = hash
	}
	if hashes["one order"] != hashes["the other order"] {
		t.Error("the order of a file's entries changes the hash")
	}
	seen := make(map[string]string)
	for name, hash := range hashes {
		if name == "the other order" {
			continue
		}
		if other, ok := seen[hash]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
	}
}
