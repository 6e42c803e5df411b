package paper_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// recorded reads what the version before stops and groups wrote for one account.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "version1", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLoad_OldAccount opens an account that an older version wrote, and trades on.
func TestLoad_OldAccount(t *testing.T) {
	t.Parallel()
	lines := bytes.Split(bytes.TrimSpace(recorded(t, "journal.ndjson")), []byte("\n"))
	var form any
	if err := json.Unmarshal(recorded(t, "snapshot.json"), &form); err != nil {
		t.Fatal(err)
	}
	snapshot, err := order.Compress(form)
	if err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(*papertest.Journal) error{
		"a journal":  func(j *papertest.Journal) error { return j.Append(t.Context(), lines...) },
		"a snapshot": func(j *papertest.Journal) error { return j.SaveSnapshot(t.Context(), snapshot) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &papertest.Journal{}
			if err := fill(j); err != nil {
				t.Fatal(err)
			}
			v := open(t, j)
			v.wantOrders(t, map[string]string{"bought": "filled 1/1 1@50025", "sells": "partially_filled 0.2/0.5 0.2@51000", "ends": "canceled 0/0.2"})
			if h := v.cash(t, "BTC"); !h.Quantity.Equal(dec("0.8")) || !h.Available.Equal(dec("0.5")) {
				t.Errorf("%s are held, %s available", h.Quantity, h.Available)
			}
			v.bars(0, bar{50000, 51001, 50000, 50000, 9})
			v.wantOrders(t, map[string]string{"sells": "filled 0.5/0.5 0.2@51000 0.3@51000"})
			v.place(t, pair("0.5", "49000", "51000")...)
			v.bars(1, bar{50000, 50000, 48000, 48000, 9})
			v.wantOrders(t, map[string]string{"stop": "filled 0.5/0.5 0.5@48975.5", "head": "canceled 0/0.5"})
		})
	}
}
