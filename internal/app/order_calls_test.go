package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// orderCall is a case of testdata/order_calls.txt.
type orderCall struct {
	name          string
	held, resting bool
	tool, call    string
	has           []string
	refused       string
	next          [2]string // tool and arguments
	given         [2]string // a call before
	pending       string    // why it is refused
}

// readCalls reads the cases of a file.
func readCalls(t *testing.T, name string) []orderCall {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []orderCall
	for n, line := range strings.Split(string(data), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		if word == "" || word == "#" {
			continue
		}
		if word == "==" {
			all = append(all, orderCall{name: rest})
			continue
		}
		c := &all[len(all)-1]
		switch word {
		case "held":
			c.held = true
		case "resting":
			c.resting = true
		case "call":
			c.tool, c.call, _ = strings.Cut(rest, " ")
		case "has":
			c.has = strings.Fields(rest)
		case "refused":
			c.refused = rest
		case "next":
			c.next[0], c.next[1], _ = strings.Cut(rest, " ")
		case "given":
			c.given[0], c.given[1], _ = strings.Cut(rest, " ")
		case "pending":
			c.pending = rest
		default:
			t.Fatalf("line %d: %q is no word of a case", n+1, word)
		}
	}
	return all
}

// run makes the first call, and after a refusal the next one. It returns why an agent would be lost, "" if it is not.
func (c orderCall) run(f *floor) string {
	if c.held {
		f.place("A", `{"stop_loss":48000,"take_profit":53000}`)
	}
	if c.resting {
		f.place("B", `{"type":"limit","price":49000}`)
	}
	text, isError := f.call(c.tool, c.call)
	if c.refused == "" {
		if isError {
			return "it is refused: " + text
		}
		return lacks(text, f, c.has)
	}
	var r refused
	if err := json.Unmarshal([]byte(text), &r); err != nil || !isError {
		return fmt.Sprintf("it passes: %v %s", err, text)
	}
	if !strings.Contains(r.Message, c.refused) {
		return "the refusal does not say " + c.refused + ": " + r.Message
	}
	said := r.Message + " " + r.Field + " " + strings.Join(r.Suggestions, " ")
	for name := range f.decode(c.next[1]) { // what the next call adds can be read from the answer
		if _, before := f.decode(c.call)[name]; !before && !strings.Contains(said, name) {
			return name + " is not in the refusal: " + said
		}
	}
	if !strings.Contains(said, c.next[0]) && c.next[0] != c.tool {
		return c.next[0] + " is not in the refusal: " + said
	}
	if text, isError := f.call(c.next[0], c.next[1]); isError {
		return "the next call is refused: " + text
	}
	return ""
}

// lacks returns what an answer lacks, "" if it lacks nothing.
func lacks(text string, f *floor, wanted []string) string {
	for _, want := range wanted {
		if !strings.Contains(text, f.named(want)) {
			return "the answer lacks " + want + ": " + text
		}
	}
	return ""
}

// TestOrderCalls makes what agents say first: each call succeeds at once, or is answered so that the next one is right.
func TestOrderCalls(t *testing.T) {
	t.Parallel()
	all, led, atOnce := readCalls(t, "order_calls.txt"), 0, 0
	for _, c := range all {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(openDay()))
			if why := c.run(onPaper(nil)(t)); why != "" {
				t.Logf("%s: %s", c.name, why)
				return
			}
			if led++; c.refused == "" {
				atOnce++
			}
		})
	}
	t.Logf("of %d calls %d succeed at once and %d after the answer", len(all), atOnce, led-atOnce)
	if len(all) < 60 || led*60 < len(all)*55 {
		t.Errorf("of %d calls %d lead to the right one, want 55 of 60", len(all), led)
	}
}
