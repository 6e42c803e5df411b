package app

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fakebinance "candela/internal/testkit/fake/binance"
)

// program is the whole program over stdio, with every tool, over a venue in memory.
type program struct {
	t       testing.TB
	in      io.Writer
	answers *bufio.Scanner
	asked   int
}

// startProgram runs the program until the test ends.
func startProgram(tb testing.TB, more ...string) *program {
	tb.Helper()
	return startIn(tb, filepath.Join(tb.TempDir(), "home"), more...)
}

// startIn is startProgram in a state directory.
func startIn(tb testing.TB, home string, more ...string) *program {
	tb.Helper()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	tb.Cleanup(venue.Close)
	cfg := configure(tb, append([]string{"--mcp", "--trade", "--toolsets=all", "--home", home, "--yahoo=false", "--binance-url=" + venue.URL}, more...)...)
	in, feed := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(context.WithoutCancel(tb.Context()), cfg, Deps{Version: "test", Stdin: in, Stdout: answers, Stderr: io.Discard, Services: Wired()})
		_, _ = in.CloseWithError(cmp.Or(err, io.EOF)), answers.Close()
		done <- err
	}()
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 8<<20)
	tb.Cleanup(func() {
		_ = feed.Close()
		for scan.Scan() {
		}
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return &program{t: tb, in: feed, answers: scan}
}

// withUnderstood adds to the report of a run what the answer to its call said of how it was read.
func withUnderstood(text, first string) string {
	var said struct {
		Understood json.RawMessage `json:"understood"`
	}
	if json.Unmarshal([]byte(first), &said) != nil || said.Understood == nil {
		return text
	}
	return strings.TrimSuffix(text, "}") + `,"understood":` + string(said.Understood) + "}"
}

// settled makes a call. A machine that is busy with other tests may not be done in time; then it does what the answer says: repeat the
// call, or ask for the report of a run that goes on.
func (p *program) settled(name, arguments string) (text string, isError bool) {
	p.t.Helper()
	first := ""
	for deadline := time.Now().Add(patience); ; {
		text, isError = p.call(name, arguments)
		var run struct {
			Status string `json:"status"`
			Report string `json:"report_id"`
		}
		late := isError && (strings.Contains(text, "no answer in time") || strings.Contains(text, "There was no verdict in time."))
		goesOn := !isError && json.Unmarshal([]byte(text), &run) == nil && run.Status == "running" && run.Report != ""
		if !late && !goesOn || time.Now().After(deadline) {
			return withUnderstood(text, first), isError
		}
		if goesOn {
			first = text
			name, arguments = "get_report", fmt.Sprintf(`{"report_id":%q,"wait_seconds":55}`, run.Report)
		}
	}
}

// call makes a call. A name that is no tool has the code and the message of its error.
func (p *program) call(name, arguments string) (text string, isError bool) {
	p.t.Helper()
	p.asked++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", p.asked, name, arguments); err != nil {
		p.t.Fatal(err)
	}
	for p.answers.Scan() {
		var answer struct {
			ID     int `json:"id"`
			Result struct {
				Content []struct{ Text string } `json:"content"`
				IsError bool                    `json:"isError"`
			} `json:"result"`
			Error *struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(p.answers.Bytes(), &answer); err != nil {
			p.t.Fatal(err)
		}
		if answer.ID != p.asked {
			continue // a notification
		}
		if answer.Error != nil {
			if answer.Error.Code != -32602 {
				p.t.Errorf("%s has the code %d", name, answer.Error.Code)
			}
			refusal, _ := json.Marshal(map[string]string{"code": strconv.Itoa(answer.Error.Code), "message": answer.Error.Message}) // of two texts
			return string(refusal), true
		}
		var all strings.Builder
		for _, content := range answer.Result.Content {
			all.WriteString(content.Text)
		}
		return all.String(), answer.Result.IsError
	}
	p.t.Fatal("no answer", p.answers.Err())
	return "", false
}

// firstCall is a case of testdata/first_calls.txt.
type firstCall struct {
	orderCall
	row  int
	kind string // =, A or R
}

var firstName = regexp.MustCompile(`^(\d+)([=AR]) `)

// readFirstCalls reads the cases.
func readFirstCalls(t *testing.T, name string) (all []firstCall) {
	t.Helper()
	for _, c := range readCalls(t, name) {
		match := firstName.FindStringSubmatch(c.name)
		if match == nil {
			t.Fatalf("%q has no row", c.name)
		}
		one := firstCall{orderCall: c, kind: match[2]}
		if _, err := fmt.Sscan(match[1], &one.row); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// onOrders reports whether the call is about orders.
func (c *firstCall) onOrders() bool {
	return slices.Contains([]string{"place_order", "cancel_order", "get_orders", "get_positions", "get_balance"}, c.tool)
}

// onProgram makes the calls of a case on the whole program. It returns what is wrong, "" if nothing is.
func (c *firstCall) onProgram(p *program) string {
	p.t.Helper()
	day := time.Now().UTC().AddDate(0, 0, -1)
	first := day.AddDate(0, 0, -60)
	dates := strings.NewReplacer("START", first.Format(time.DateOnly), "END", day.Format(time.DateOnly),
		"FIRST_SECOND", strconv.FormatInt(first.Unix(), 10), "LAST_SECOND", strconv.FormatInt(day.Unix(), 10), "FIRST_MILLISECOND", strconv.FormatInt(first.UnixMilli(), 10))
	id := "ALERT_ID"
	if c.given[0] != "" {
		text, isError := p.settled(c.given[0], c.given[1])
		if isError {
			return "the call before is refused: " + text
		}
		var set struct {
			ID string `json:"alert_id"`
		}
		if json.Unmarshal([]byte(text), &set) == nil && set.ID != "" {
			id = set.ID
		}
	}
	named := func(text string) string { return dates.Replace(strings.ReplaceAll(text, "ALERT_ID", id)) }
	text, isError := p.settled(c.tool, named(c.call))
	if c.refused == "" {
		if isError {
			return "it is refused: " + text
		}
		for _, want := range c.has {
			if !strings.Contains(text, named(want)) {
				return fmt.Sprintf("the answer lacks %s: %.2000s", want, text)
			}
		}
		return ""
	}
	var r refused
	if err := json.Unmarshal([]byte(text), &r); err != nil || !isError {
		return fmt.Sprintf("it passes: %v %.500s", err, text)
	}
	if !strings.Contains(r.Message, c.refused) {
		return "the refusal does not say " + c.refused + ": " + r.Message
	}
	if c.next[0] != "" {
		if text, isError := p.settled(c.next[0], named(c.next[1])); isError {
			return "the next call is refused: " + text
		}
	}
	return ""
}

// TestFirstCalls makes what agents say first, in 94 rows. A call is taken, or refused in words that lead to the right one; a row
// that is pending says why.
func TestFirstCalls(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	rows, pending, wrong := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, c := range readFirstCalls(t, "first_calls.txt") {
		rows[c.row] = true
		if c.pending != "" {
			pending[c.row] = true
			t.Logf("row %d is pending: %s", c.row, c.pending)
		}
		if (c.kind == "R") != (c.refused != "") && c.pending == "" {
			t.Errorf("%s: it is refused or not", c.name)
		}
		if why := c.make(t, p); why != "" {
			wrong[c.row] = true
			t.Errorf("%s: %s", c.name, why)
		}
	}
	if len(rows) != 94 || len(pending) > 4 {
		t.Errorf("%d rows, of which %d are pending; want 94 and at most 4", len(rows), len(pending))
	}
	t.Logf("%d of 94 rows happen as designed, %d are pending", len(rows)-len(pending)-len(wrong), len(pending))
}

// make makes the calls of a case: those about orders on a new paper account. It returns what is wrong, "" if nothing is.
func (c *firstCall) make(t *testing.T, p *program) (why string) {
	t.Helper()
	if !c.onOrders() {
		return c.onProgram(p)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(openDay()))
		why = c.run(onPaper(nil)(t))
	})
	return why
}

// TestNaturalCalls makes first calls in many wordings. Of five at least four are taken at once, and each of the others leads to a call
// that is.
func TestNaturalCalls(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	tools, taken, all := map[string]bool{}, 0, readFirstCalls(t, "natural_calls.txt")
	for _, c := range all {
		if tools[c.tool] = true; c.kind != "R" {
			taken++
		}
		if (c.kind == "R") != (c.refused != "") {
			t.Errorf("%s: it is refused or not", c.name)
		}
		if why := c.make(t, p); why != "" {
			t.Errorf("%s: %s: %s", c.name, c.call, why)
		}
	}
	if len(all) < 150 || taken*5 < len(all)*4 || len(tools) < 20 {
		t.Errorf("%d of %d calls of %d tools are taken at once", taken, len(all), len(tools))
	}
	t.Logf("%d of %d calls are taken at once", taken, len(all))
}
