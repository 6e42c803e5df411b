package ledger_test

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
	"candela/internal/store/receipt/receipttest"
)

// stretched returns a receipt of two stretches or more, and the keys.
func stretched(t *testing.T) ([]byte, receipt.Keys, chain.Key) {
	t.Helper()
	dir := t.TempDir()
	ids := drawnOrders(t, dir, rand.New(rand.NewPCG(11, 11)), 120)
	key, err := receipt.ReadKey(dir)
	check(t, err)
	for owner, all := range ids {
		for _, id := range all {
			text := issue(t, dir, owner, id)
			d, err := receipt.Parse(text)
			check(t, err)
			if len(d.Receipt.Chain) > 1 {
				return text, keysOf(t, dir), key
			}
		}
	}
	t.Fatal("no receipt with two stretches")
	return nil, nil, chain.Key{}
}

// judged compares what this program and the one in docs/receipts.md say of receipts.
func judged(t *testing.T, keys receipt.Keys, texts map[string]string, valid func(name string) (here, python bool)) {
	t.Helper()
	var names []string
	var all [][]byte
	for name, text := range texts {
		names, all = append(names, name), append(all, []byte(text))
	}
	found := receipttest.Python(t, filepath.Join("..", "..", ".."), keys, all)
	for i, name := range names {
		here, python := valid(name)
		if err := receipttest.Verify(all[i], keys); (err == nil) != here {
			t.Errorf("%s: %v", name, err)
		}
		if found[i] != python {
			t.Errorf("%s: Python says %v", name, found[i])
		}
	}
}

// TestReceipt_InOtherForms writes a receipt in other forms. One that says the same to every reader is valid; all else is refused.
func TestReceipt_InOtherForms(t *testing.T) {
	t.Parallel()
	text, keys, _ := stretched(t)
	plain := string(text)
	in := func(old, becomes string) string {
		t.Helper()
		if !strings.Contains(plain, old) {
			t.Fatalf("no %s in %s", old, plain)
		}
		return strings.Replace(plain, old, becomes, 1)
	}
	at := strings.LastIndex(plain, `},"signature":{`)
	head, signature := plain[1:at+1], plain[at+2:len(plain)-1] // the two members of the document
	same := map[string]string{
		"members in another order": "{" + signature + "," + head + "}",
		"with white space":         strings.ReplaceAll(plain, `,"`, " ,\n\t\""),
		"letters escaped":          in(`"mode":"paper"`, `"\u006dode":"p\u0061per"`),
		"a slash escaped":          strings.ReplaceAll(plain, "/", `\/`),
	}
	other := map[string]string{
		"a member twice, the signed one last":      in(`"mode":"paper"`, `"mode":"live","mode":"paper"`),
		"a member twice, the signed one first":     in(`"mode":"paper"`, `"mode":"paper","mode":"live"`),
		"a member twice, one of them escaped":      in(`"mode":"paper"`, `"\u006dode":"live","mode":"paper"`),
		"a member twice in an event":               in(`"client":`, `"client":"Another","client":`),
		"the receipt twice":                        strings.Replace(plain, `{`, `{"receipt":{},`, 1),
		"a member that is not of the form":         in(`"mode":"paper"`, `"mode":"paper","note":"paid"`),
		"such a member in an event":                in(`"client":`, `"at2":1,"client":`),
		"a name in capitals":                       in(`"mode":"paper"`, `"Mode":"paper"`),
		"a second name in capitals":                in(`"mode":"paper"`, `"mode":"paper","MODE":"live"`),
		"a member that is missing":                 in(`"mode":"paper",`, ``),
		"a number with a fraction":                 in(`"version":1`, `"version":1.0`),
		"a number with an exponent":                in(`"version":1`, `"version":1e0`),
		"a number with a zero":                     in(`"version":1`, `"version":01`),
		"a number as text":                         in(`"version":1`, `"version":"1"`),
		"another version":                          in(`"version":1`, `"version":2`),
		"no number":                                in(`"version":1`, `"version":null`),
		"a letter composed otherwise":              strings.Replace(plain, "é", "e\u0301", 1),
		"a hidden letter":                          in(`"mode":"paper"`, `"mode":"paper`+"\u200b"+`"`),
		"half a surrogate":                         in(`"mode":"paper"`, `"mode":"paper\ud800"`),
		"another algorithm":                        strings.ReplaceAll(plain, `"alg":"Ed25519"`, `"alg":"none"`),
		"the ID of another key":                    strings.ReplaceAll(plain, keys[0].ID(), "0123456789abcdef"),
		"a signature without padding":              strings.ReplaceAll(plain, `=="`, `"`),
		"a signature with a line in it":            strings.ReplaceAll(plain, `=="`, `\n=="`),
		"more after it":                            plain + `{"receipt":{}}`,
		"a byte order mark":                        "\ufeff" + plain,
		"cut off":                                  plain[:len(plain)-1],
		"a comment":                                "/* paid */" + plain,
		"upper-case digits in a hash":              upperHash(plain),
		"the signature of the receipt on its part": strings.Replace(plain, signature[len(`"signature":`):], `{}`, 1),
	}
	texts := maps.Clone(same)
	maps.Copy(texts, other)
	judged(t, keys, texts, func(name string) (here, python bool) {
		_, ok := same[name]
		return ok, ok
	})
}

// upperHash writes the digits of a stretch's hash in capitals, of the first that has letters: before the first event of a
// chain there are zeros alone.
func upperHash(text string) string {
	at := regexp.MustCompile(`"before":"\d*[a-f][0-9a-f]*"`).FindStringIndex(text)
	from, to := at[0]+len(`"before":"`), at[1]-1
	return text[:from] + strings.ToUpper(text[from:to]) + text[to:]
}

// TestReceipt_ByTheHolderOfTheKey takes a receipt apart and signs it again with the key of the installation. What the chain contradicts is
// refused, by this program also what the events contradict.
func TestReceipt_ByTheHolderOfTheKey(t *testing.T) {
	t.Parallel()
	text, keys, key := stretched(t)
	checks := map[string]struct {
		python bool // it is valid for the program of the page, which checks less
		change func(r *receipt.Receipt)
	}{
		"the last stretch cut off":  {false, func(r *receipt.Receipt) { r.Chain = r.Chain[:len(r.Chain)-1] }},
		"the first stretch cut off": {false, func(r *receipt.Receipt) { r.Chain = r.Chain[1:] }},
		"a stretch and its events twice": {false, func(r *receipt.Receipt) {
			r.Chain, r.Events = append(r.Chain, r.Chain...), append(r.Events, r.Events...)
		}},
		"a stretch of other events twice":    {false, func(r *receipt.Receipt) { r.Chain = append(r.Chain[:1:1], r.Chain...); hide(r) }},
		"events and stretches the other way": {false, turn},
		"a stretch without links":            {false, func(r *receipt.Receipt) { r.Chain = append(r.Chain[:1:1], withoutLinks(r.Chain[0])) }},
		"links cut off":                      {false, func(r *receipt.Receipt) { r.Chain[0].Links = r.Chain[0].Links[1:] }},
		"a link more":                        {false, func(r *receipt.Receipt) { r.Chain[0].Links = append(r.Chain[0].Links, strings.Repeat("0", 64)) }},
		"an event more":                      {false, func(r *receipt.Receipt) { e := r.Events[len(r.Events)-1]; e.Seq++; r.Events = append(r.Events, e) }},
		"the checkpoint of another stretch": {false, func(r *receipt.Receipt) {
			r.Chain[0].Checkpoint, r.Chain[0].Signature = r.Chain[1].Checkpoint, r.Chain[1].Signature
		}},
		"another client":                       {false, func(r *receipt.Receipt) { r.Events[0].Client = "Another" }},
		"an event a moment later":              {false, func(r *receipt.Receipt) { r.Events[0].At++ }},
		"the text of an event with a blank":    {false, func(r *receipt.Receipt) { r.Events[0].Body = " " + r.Events[0].Body }},
		"a field moved to the one beside it":   {false, func(r *receipt.Receipt) { e := &r.Events[0]; e.Subject, e.Actor = e.Subject+e.Actor, "" }},
		"another owner":                        {false, func(r *receipt.Receipt) { r.Events[0].Owner = principal.Owner("carol") }},
		"live for paper":                       {true, func(r *receipt.Receipt) { r.Mode = "live" }},
		"another policy":                       {true, func(r *receipt.Receipt) { r.Policy.Hash = "sha256:2" }},
		"no policy":                            {true, func(r *receipt.Receipt) { r.Policy = nil }},
		"another order":                        {true, func(r *receipt.Receipt) { r.OrderID = "o-none" }},
		"another installation":                 {true, func(r *receipt.Receipt) { r.Installation = "0123456789abcdef" }},
		"nothing of it":                        {true, func(r *receipt.Receipt) { r.Events, r.Chain = []receipt.Event{}, []receipt.Stretch{} }},
		"its creation left out as a mere hash": {true, func(r *receipt.Receipt) { leaveOut(r) }},
	}
	texts := make(map[string]string)
	for name, one := range checks {
		d, err := receipt.Parse(text)
		check(t, err)
		one.change(&d.Receipt)
		d.Signature, err = key.Sign("candela receipt 1\n", d.Receipt)
		check(t, err)
		again, err := d.Text()
		check(t, err)
		texts[name] = string(again)
	}
	judged(t, keys, texts, func(name string) (here, python bool) { return false, checks[name].python })
}

// hide writes the events of the first stretch as hashes alone.
func hide(r *receipt.Receipt) {
	part := r.Chain[0]
	part.Links = append([]string(nil), part.Links...)
	at := 0
	for i, link := range part.Links {
		if link == "" {
			part.Links[i] = sumOf(&r.Events[at])
			at++
		}
	}
	r.Chain[0] = part
}

// leaveOut writes the first event as a hash alone.
func leaveOut(r *receipt.Receipt) {
	part := &r.Chain[0]
	for i, link := range part.Links {
		if link == "" {
			part.Links[i] = sumOf(&r.Events[0])
			r.Events = r.Events[1:]
			return
		}
	}
}

func sumOf(e *receipt.Event) string {
	stored := chain.Event{Seq: e.Seq, At: time.UnixMicro(e.At), Owner: e.Owner, Kind: e.Kind, Subject: e.Subject, Actor: e.Actor, Client: e.Client, Body: []byte(e.Body), Prev: e.Prev}
	return stored.Sum().String()
}

func withoutLinks(part receipt.Stretch) receipt.Stretch {
	part.Before, part.Links = part.Checkpoint.Hash, []string{}
	return part
}

// turn puts the last stretch and its events first.
func turn(r *receipt.Receipt) {
	last := r.Chain[len(r.Chain)-1]
	n := 0
	for _, link := range last.Links {
		if link == "" {
			n++
		}
	}
	at := len(r.Events) - n
	r.Events = append(append([]receipt.Event(nil), r.Events[at:]...), r.Events[:at]...)
	r.Chain = append([]receipt.Stretch{last}, r.Chain[:len(r.Chain)-1]...)
}
