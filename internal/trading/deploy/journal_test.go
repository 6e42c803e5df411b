package deploy_test

import (
	"bytes"
	"os"
	"testing"

	"candela/internal/trading/deploy"
)

// TestJournal_OfBeforeIsRead starts with a journal that the program of before wrote: in deflated bars, each with its text of
// JSON. It goes on with it, and both forms are read after the next start.
func TestJournal_OfBeforeIsRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/journal.jsonl") // written by TestRun's script over the first 260 bars of walk(300, 3)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	id, j := string(lines[0]), newJournals()
	j.entries["strategy "+id] = lines[1:]
	v := &venue{bars: walk(300, 3), closed: 260}
	p := start(t, j, v)
	d := p.settled(t, id, v.bars[259].T)
	if d.State != deploy.Running || d.Intents != 18 || d.Bars != 260 || d.Through != v.bars[259].T {
		t.Fatalf("%+v", d)
	}
	d = p.until(t, v, &d, 300)
	before := d.Intents
	p.kill()
	p = start(t, j, v)
	if d = p.settled(t, id, v.bars[299].T); d.State != deploy.Running || d.Intents != before || before <= 18 || d.Bars != 300 {
		t.Errorf("%+v, and %d intents before", d, before)
	}
}
