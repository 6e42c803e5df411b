package ledger_test

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/receipt"
	"candela/internal/store/receipt/receipttest"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
)

var update = flag.Bool("update", false, "write the test vector of docs/receipts.md")

// drawnOrders writes random orders of two owners, day after day, with restarts: denied, approved, filled in parts, cancelled, and
// events of alerts and of the trading state between them. It returns their IDs by owner.
func drawnOrders(t *testing.T, dir string, random *rand.Rand, n int) map[principal.Owner][]string {
	t.Helper()
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	l, _, _ := sealing(t, dir, &now)
	check(t, l.RecordPolicy(t.Context(), []byte("{}"), "sha256:1"))
	ids := make(map[principal.Owner][]string)
	for i := range n {
		now = now.Add(time.Duration(random.IntN(200)) * time.Minute)
		owner := []principal.Owner{"ann", "bob"}[random.IntN(2)]
		id := fmt.Sprintf("o-%d", i)
		ids[owner] = append(ids[owner], id)
		for _, events := range receipttest.Order(random, owner, id, now) {
			_, err := l.AppendEvents(t.Context(), principal.Caller{Subject: owner, Key: "6acb604a74", Client: "Claud\u00e9 \"1\""}, events)
			check(t, err)
			switch random.IntN(6) {
			case 0:
				put(t, l, owner, int64(i))
			case 1:
				check(t, l.SaveState(t.Context(), principal.Caller{Subject: owner}, "guard", []byte(`{"causes":[{"kind":"owner_halt"}]}`)))
			case 2:
				now = now.Add(13 * time.Hour)
			}
		}
		if random.IntN(20) == 0 {
			check(t, l.Close())
			l, _, _ = sealing(t, dir, &now)
		}
	}
	check(t, l.Close())
	return ids
}

func issue(t *testing.T, dir string, owner principal.Owner, id string) []byte {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	made, err := receipt.Issuer{Source: log, Key: receipt.KeyIn(dir), Now: func() time.Time { return time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC) }}.Issue(t.Context(), owner, id)
	check(t, err)
	check(t, log.Close())
	return made.Text
}

func keysOf(t *testing.T, dir string) receipt.Keys {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	changes, err := log.Keys(t.Context())
	check(t, err)
	check(t, log.Close())
	return receipt.NewKeys(changes)
}

// TestReceipt_VerifiesHereAndInPython makes receipts of random orders, verifies each with this program and with the one in
// docs/receipts.md, and has both refuse receipts of which one byte was changed.
func TestReceipt_VerifiesHereAndInPython(t *testing.T) {
	t.Parallel()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(longtest.Seed(), 44))
	ids := drawnOrders(t, dir, random, longtest.Pick(250, 4000))
	verified(t, dir)
	keys := keysOf(t, dir)
	var texts [][]byte
	var largest, total int
	var slowest time.Duration
	for owner, all := range ids {
		for _, id := range all {
			text := issue(t, dir, owner, id)
			began := time.Now()
			if err := receipttest.Verify(text, keys); err != nil {
				t.Fatalf("seed %d: order %s: %v", longtest.Seed(), id, err)
			}
			slowest, largest, total = max(slowest, time.Since(began)), max(largest, len(text)), total+len(text)
			texts = append(texts, text)
		}
	}
	t.Logf("%d receipts of %d bytes on average, %d at most; the slowest verification took %v", len(texts), total/len(texts), largest, slowest)
	changes := longtest.Pick(1000, 20_000)
	var changed [][]byte
	for range changes {
		text := append([]byte(nil), texts[random.IntN(len(texts))]...)
		at := random.IntN(len(text))
		text[at] ^= byte(1 + random.IntN(255))
		if err := receipttest.Verify(text, keys); err == nil {
			t.Errorf("seed %d: byte %d changed to %q: the receipt is valid\n%s", longtest.Seed(), at, text[at], text)
		}
		changed = append(changed, text)
	}
	for n, ok := range receipttest.Python(t, filepath.Join("..", "..", ".."), keys, append(append([][]byte(nil), texts...), changed...)) {
		if want := n < len(texts); ok != want {
			t.Errorf("seed %d: Python says %v of receipt %d", longtest.Seed(), ok, n)
		}
	}
}

// TestReceipt_RefusesWhatItDoesNotProve takes receipts apart and signs them again, as somebody with another key could.
func TestReceipt_RefusesWhatItDoesNotProve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := drawnOrders(t, dir, rand.New(rand.NewPCG(7, 7)), 30)
	text, keys := issue(t, dir, "ann", ids["ann"][0]), keysOf(t, dir)
	forger := chain.NewKey([chain.SeedSize]byte{9})
	for name, change := range map[string]func(d *receipt.Document){
		"an event left out":     func(d *receipt.Document) { d.Receipt.Events = d.Receipt.Events[1:] },
		"events in other order": func(d *receipt.Document) { e := d.Receipt.Events; e[0], e[1] = e[1], e[0] },
		"an event rewritten":    func(d *receipt.Document) { d.Receipt.Events[0].Body += " " },
		"no chain":              func(d *receipt.Document) { d.Receipt.Chain = nil },
		"another order":         func(d *receipt.Document) { d.Receipt.OrderID = "o-none" },
	} {
		d, err := receipt.Parse(text)
		check(t, err)
		change(&d)
		signature, err := forger.Sign("candela receipt 1\n", d.Receipt)
		check(t, err)
		d.Signature = signature
		with := append(append(receipt.Keys(nil), keys...), receipt.Key{Public: forger.Public()})
		if _, err := receipt.Verify(d, with); err == nil {
			t.Errorf("%s: valid", name)
		}
		if _, err := receipt.Verify(d, keys); err == nil {
			t.Errorf("%s, signed with a key of somebody else: valid", name)
		}
	}
	for name, text := range map[string]string{
		"an unknown member": strings.Replace(string(text), `{"receipt":`, `{"also":1,"receipt":`, 1),
		"a member twice":    strings.Replace(string(text), `"mode":"paper"`, `"mode":"live","mode":"paper"`, 1),
		"upper-case digits": strings.Replace(string(text), `"before":"`, `"before":"A`, 1),
	} {
		if err := receipttest.Verify([]byte(text), keys); err == nil {
			t.Errorf("%s: valid", name)
		}
	}
	set, err := keys.JWKS()
	check(t, err)
	read, err := receipt.ParseKeys(set)
	check(t, err)
	if err := receipttest.Verify(append([]byte(" \n"), text...), read); err != nil {
		t.Errorf("with white space, by the JWK set: %v", err)
	}
}

// TestReceipt_IsTheOwnersAlone asks for an order of another owner, and without a key.
func TestReceipt_IsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := drawnOrders(t, dir, rand.New(rand.NewPCG(8, 8)), 20)
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	defer func() { check(t, log.Close()) }()
	receipts := receipt.Receipts{Open: func() (receipt.Source, error) { return log, nil }, Key: receipt.KeyIn(dir), Owner: func(c principal.Caller) principal.Owner { return c.Subject }}
	id := ids["ann"][0]
	if _, err := receipts.Receipt(t.Context(), principal.Caller{Subject: "ann"}, id); err != nil {
		t.Error(err)
	}
	if _, err := receipts.Receipt(t.Context(), principal.Caller{Subject: "bob"}, id); fault.Of(err) == nil || fault.Of(err).Code != "order_not_found" {
		t.Errorf("an order of another owner: %v", err)
	}
	check(t, os.Remove(filepath.Join(dir, receipt.KeyName)))
	if _, err := receipts.Receipt(t.Context(), principal.Caller{Subject: "ann"}, id); fault.Of(err) == nil || fault.Of(err).Code != "no_receipt" {
		t.Errorf("without the key: %v", err)
	}
}

// TestReceipt_Vector verifies the receipt that docs/receipts.md names, and has each change of one of its bytes refused.
func TestReceipt_Vector(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("testdata", "receipt")
	if *update {
		dir := t.TempDir()
		ids := drawnOrders(t, dir, rand.New(rand.NewPCG(9, 9)), 5)
		keys := keysOf(t, dir)
		check(t, os.MkdirAll(folder, 0o750))
		check(t, os.WriteFile(filepath.Join(folder, "receipt.json"), issue(t, dir, "ann", ids["ann"][0]), 0o600))
		check(t, os.WriteFile(filepath.Join(folder, "key.txt"), []byte(base64.StdEncoding.EncodeToString(keys[0].Public)+"\n"), 0o600))
	}
	keys, err := receipt.ParseKeys(read(t, filepath.Join(folder, "key.txt")))
	check(t, err)
	text := read(t, filepath.Join(folder, "receipt.json"))
	texts := [][]byte{text}
	for at := range text {
		changed := append([]byte(nil), text...)
		changed[at] ^= 1 << (at % 8)
		if receipttest.Verify(changed, keys) == nil {
			t.Errorf("byte %d changed to %q: the receipt is valid", at, changed[at])
		}
		if at%longtest.Pick(40, 1) == 0 {
			texts = append(texts, changed)
		}
	}
	for n, ok := range receipttest.Python(t, filepath.Join("..", "..", ".."), keys, texts) {
		if ok != (n == 0) {
			t.Errorf("Python says %v of change %d", ok, n)
		}
	}
}

// FuzzReceipt_Parse holds that no text makes a panic, and that what is read is written as the same text.
func FuzzReceipt_Parse(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "receipt", "receipt.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"receipt":{},"signature":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := receipt.Parse(data)
		if err != nil {
			return
		}
		if _, err := d.Text(); err != nil {
			t.Fatal(err)
		}
		if _, err := receipt.Verify(d, nil); err == nil {
			t.Fatal(errors.New("valid without a key"))
		}
	})
}

// TestReceipt_ContradictsAnOlderCopy puts back a copy of the log from before an order: the copy is whole by itself, and the
// checkpoint of a receipt is not in it.
func TestReceipt_ContradictsAnOlderCopy(t *testing.T) {
	t.Parallel()
	dir, older, random := t.TempDir(), t.TempDir(), rand.New(rand.NewPCG(10, 10))
	drawnOrders(t, dir, random, 20)
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	check(t, log.CopyTo(t.Context(), older))
	check(t, log.Close())
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	l, _, _ := sealing(t, dir, &now)
	for _, events := range receipttest.Order(random, "ann", "o-last", now) {
		_, err := l.AppendEvents(t.Context(), principal.Caller{Subject: "ann"}, events)
		check(t, err)
	}
	check(t, l.Close())
	d, err := receipt.Parse(issue(t, dir, "ann", "o-last"))
	check(t, err)
	signed := d.Receipt.Chain[len(d.Receipt.Chain)-1].Checkpoint
	link := ledger.Chain{Events: signed.Events, Hash: signed.Hash}
	if _, found := chainOf(t, dir, "ann", link); !found {
		t.Error("the log lacks the checkpoint of a receipt")
	}
	verified(t, older)
	if _, found := chainOf(t, older, "ann", link); found {
		t.Error("the older copy has the checkpoint of a later receipt")
	}
}
