package app

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/lib/market"
)

// mistakenClaim is a row of testdata/mistakes.tsv: what is wrong with a claim of an order in BTCUSDT, and the claim. In its
// text "now+5%" stands for a number 5 % from the true value, and "between" with the operator "?" for one that is true
// elsewhere and false here.
type mistakenClaim struct{ kind, claim string }

func readMistakes(t *testing.T) (all []mistakenClaim) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "mistakes.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, claim, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, mistakenClaim{kind, claim})
	}
	return all
}

// TestEvidence_MistakenClaims places 200 orders for mistaken reasons. Every false one is denied with the true value of
// charts to the last bit, one that looks too far back by its age, one that cannot be judged with what is missing. One
// that is always true goes on, and the answer says at how many bars it was true. One that means nothing is refused. No
// other order than those with true reasons is sent.
func TestEvidence_MistakenClaims(t *testing.T) {
	t.Parallel()
	all := readMistakes(t)
	if len(all) != 200 {
		t.Fatalf("%d claims", len(all))
	}
	p := startProgram(t, "--policy", ownPolicy(t, "max_order_notional = \"none\"\nmax_orders_per_minute = \"none\"\nmax_daily_notional = \"none\"\nduplicate_window = \"0s\"\nmax_evidence_age = 3\n"))
	j := &mistakes{program: p, values: make(map[string]float64)}
	counts := make(map[string]int)
	for i, m := range all {
		kind, detail, _ := strings.Cut(m.kind, " ")
		var verdict string
		for closed, deadline := 0, time.Now().Add(patience); closed < 2; { // a bar may close between two calls, and not twice
			j.now = time.Now().UTC()
			verdict = j.judge(kind, detail, m.claim)
			if strings.Contains(verdict, "evidence_unavailable") && time.Now().Before(deadline) {
				continue // the bars were not read in time: the same call may be repeated
			}
			if verdict == "" || j.sameBars() {
				break
			}
			clear(j.values)
			closed++
		}
		if verdict != "" {
			t.Errorf("row %d, %s: %s", i+1, m.kind, verdict)
		}
		counts[kind]++
	}
	t.Logf("%v", counts)
	text, _ := p.call("get_orders", `{"filter":"all"}`)
	if sent := strings.Count(text, `"status":"filled"`); sent != 0 {
		t.Errorf("%d orders were filled: %.300s", sent, text)
	}
}

// ownPolicy writes a policy and returns its path.
func ownPolicy(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "policy.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// mistakes judges rows.
type mistakes struct {
	*program
	now    time.Time
	values map[string]float64
}

// sameBars reports whether no bar has closed since a row began.
func (j *mistakes) sameBars() bool {
	return time.Now().UTC().Truncate(time.Hour).Equal(j.now.Truncate(time.Hour))
}

// judge places an order for a claim and says what is wrong with the answer, "" for nothing.
func (j *mistakes) judge(kind, detail, claim string) string {
	j.t.Helper()
	claim, truth, err := j.fill(kind, detail, claim)
	if err != "" {
		return err
	}
	text, failed := j.settled("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"dry_run":`+strconv.FormatBool(kind == "always")+`,"because":[`+claim+`]}`)
	switch kind {
	case "false", "bar", "symbol":
		return j.denied(text, failed, truth, claim)
	case "old":
		return misses(text, failed, `"rule":"max_evidence_age"`, "bars before the newest one")
	case "unknown":
		return misses(text, failed, `"rule":"evidence_unknown"`, "closed bars and the venue has")
	case "refused":
		return misses(text, failed, `"field":"because`, "")
	}
	if failed || !strings.Contains(text, `"true":true`) || !strings.Contains(text, `"held":"100 of 100 bars"`) {
		return text
	}
	return ""
}

// misses says that an error lacks a text.
func misses(text string, failed bool, parts ...string) string {
	for _, part := range parts {
		if !failed || !strings.Contains(text, part) {
			return fmt.Sprintf("no %q in %.700s", part, text)
		}
	}
	return ""
}

// denied says what is wrong with the denial of a false claim.
func (j *mistakes) denied(text string, failed bool, truth float64, claim string) string {
	var got struct {
		Rule  string      `json:"rule"`
		Value string      `json:"value"`
		Order json.Number `json:"-"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return err.Error()
	}
	if want := strconv.FormatFloat(truth, 'f', -1, 64); !failed || got.Rule != "evidence" || got.Value != want {
		return fmt.Sprintf("%s is not denied with %s: %.700s", claim, want, text)
	}
	return ""
}

// fill puts numbers into a claim and returns the true value of its left side.
func (j *mistakes) fill(kind, detail, claim string) (filled string, truth float64, problem string) {
	if !strings.Contains(claim, `"now`) && !strings.Contains(claim, `"between"`) {
		return claim, 0, ""
	}
	var c struct {
		Interval market.Interval `json:"interval"`
		Value    struct {
			Indicator string `json:"indicator"`
			Value     string `json:"value"`
		} `json:"value"`
	}
	if err := json.Unmarshal([]byte(claim), &c); err != nil {
		return "", 0, err.Error()
	}
	end := j.now.Truncate(c.Interval.Duration())
	truth = j.value("BTCUSDT", c.Interval, c.Value.Indicator, end)
	if shift, ok := strings.CutPrefix(c.Value.Value, "now"); ok {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(shift, "%"), 64)
		if err != nil {
			return "", 0, err.Error()
		}
		return strings.ReplaceAll(claim, strconv.Quote(c.Value.Value), shortNumber(truth+math.Abs(truth)*percent/100)), truth, ""
	}
	var elsewhere float64
	if kind == "symbol" {
		elsewhere = j.value(detail, c.Interval, c.Value.Indicator, end)
	} else {
		back, _ := strconv.Atoi(detail)
		elsewhere = j.value("BTCUSDT", c.Interval, c.Value.Indicator, end.Add(-time.Duration(back)*c.Interval.Duration()))
	}
	if elsewhere == truth {
		return "", 0, "the value is the same elsewhere"
	}
	op := ">"
	if elsewhere < truth {
		op = "<"
	}
	return strings.NewReplacer(`"?"`, strconv.Quote(op), `"between"`, shortNumber((truth+elsewhere)/2)).Replace(claim), truth, ""
}

// shortNumber writes a number of a claim.
func shortNumber(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// value returns the first line of an indicator at the bar that closed at a time, as get_indicators shows it.
func (j *mistakes) value(symbol string, on market.Interval, name string, end time.Time) float64 {
	j.t.Helper()
	key := fmt.Sprint(symbol, on, name, end)
	if known, ok := j.values[key]; ok {
		return known
	}
	text, failed := j.call("get_indicators", fmt.Sprintf(`{"symbol":%q,"interval":%q,"indicators":[%q],"end":%q}`, symbol, on, name, end.Format(time.RFC3339)))
	var got struct {
		Indicators map[string]struct {
			Lines []struct {
				Last json.Number `json:"last_value"`
			} `json:"lines"`
		} `json:"indicators"`
	}
	if err := json.Unmarshal([]byte(text), &got); failed || err != nil {
		j.t.Fatalf("%s: %.300s", name, text)
	}
	for _, one := range got.Indicators {
		value, err := one.Lines[0].Last.Float64()
		if err != nil {
			j.t.Fatalf("%s: %.300s", name, text)
		}
		j.values[key] = value
		return value
	}
	j.t.Fatalf("%s: %.300s", name, text)
	return 0
}
