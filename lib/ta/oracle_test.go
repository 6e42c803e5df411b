package ta_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"candela/lib/ta"
)

// Our numbers against those of other libraries, kept under testdata/oracle. Its
// README says how they were made and what each field means.

const (
	sameSeed    = 1e-10 // relative, from the first value on and at the same bars
	otherSeed   = 1e-6  // where only the start of a recursion differs
	otherSeedAt = 200   // the bar from which that holds
)

// oracleFile is what the oracles say about one indicator.
type oracleFile struct {
	Indicator string            `json:"indicator"`
	Versions  map[string]string `json:"versions"`
	Cases     []oracleCase      `json:"cases"`
}

// oracleCase is one oracle's answer for one set of bars and parameters.
type oracleCase struct {
	Oracle  string                     `json:"oracle"`
	Set     string                     `json:"set"`
	Params  map[string]json.RawMessage `json:"params"`
	Seed    string                     `json:"seed"`
	Step    int                        `json:"step"`
	From    int                        `json:"from"`
	Until   int                        `json:"until"`
	Lines   map[string]oracleSeries    `json:"lines"`
	Hist    map[string]oracleSeries    `json:"hist"`
	Signals map[string][]int           `json:"signals"`
}

// oracleSeries is a line: the index of its first value and the values from there.
type oracleSeries struct {
	First  int     `json:"first"`
	Values numbers `json:"values"`
}

// numbers reads values in which null is NaN and [value, count] a run of equals.
type numbers []float64

func (n *numbers) UnmarshalJSON(raw []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	for _, item := range items {
		run := [2]*float64{}
		count := 1
		switch item[0] {
		case '[':
			if err := json.Unmarshal(item, &run); err != nil {
				return err
			}
			count = int(*run[1])
		default:
			if err := json.Unmarshal(item, &run[0]); err != nil {
				return err
			}
		}
		value := math.NaN()
		if run[0] != nil {
			value = *run[0]
		}
		*n = append(*n, slices.Repeat([]float64{value}, count)...)
	}
	return nil
}

// oracleFiles returns every answer. They are read once: several tests need them all.
func oracleFiles(t *testing.T) []oracleFile {
	t.Helper()
	files, err := readOracles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var readOracles = sync.OnceValues(func() ([]oracleFile, error) {
	paths, err := filepath.Glob(filepath.Join(oracleDir, "*.json"))
	if err != nil {
		return nil, err
	}
	var files []oracleFile
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "package") {
			continue // npm's own
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var f oracleFile
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, errors.New("no oracle was read: nothing was compared")
	}
	return files, nil
})

// oracleBars gives the sets by name.
func oracleBars() map[string]barSet {
	sets := make(map[string]barSet)
	for _, s := range oracleSets() {
		sets[s.Name] = s
	}
	return sets
}

// worst is the largest error found in one comparison and where, and how many values were
// compared.
type worst struct {
	count     int
	err       float64
	line      string
	at        int
	got, want float64
}

func (w *worst) record(line string, at int, got, want, err float64) {
	w.count++
	if err > w.err || w.line == "" {
		*w = worst{w.count, err, line, at, got, want}
	}
}

// tally sums the comparisons of tests that run in parallel: same and other are for
// oracles that share our seeds and for those that do not.
type tally struct {
	mu                sync.Mutex
	indicators, cases int
	same, other       worst
}

func (s *tally) add(table map[string]worst, cases []oracleCase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indicators++
	s.cases += len(cases)
	for key, w := range table {
		sum := &s.same
		if strings.HasPrefix(key, "~") {
			sum = &s.other
		}
		count := sum.count + w.count
		if w.err > sum.err {
			*sum = w
		}
		sum.count = count
	}
}

// kernelFile is the one answer that is not about an indicator.
const kernelFile = "calc"

func TestOracles(t *testing.T) {
	t.Parallel()
	sets := oracleBars()
	var total tally
	t.Cleanup(func() {
		t.Logf("%d files, %d cases: %d values compared with the same seed, worst relative error %.1e (%s); %d with another seed from bar %d on, worst %.1e (%s)",
			total.indicators, total.cases, total.same.count, total.same.err, total.same.line, total.other.count, otherSeedAt, total.other.err, total.other.line)
	})
	for _, f := range oracleFiles(t) {
		if f.Indicator == kernelFile {
			continue
		}
		t.Run(f.Indicator, func(t *testing.T) {
			t.Parallel()
			table := make(map[string]worst)
			for _, c := range f.Cases {
				set, ok := sets[c.Set]
				if !ok {
					t.Fatalf("no such set: %s", c.Set)
				}
				problems, w := c.compare(f.Indicator, &set)
				for _, p := range problems {
					t.Error(p)
				}
				w.line = f.Indicator + " " + w.line
				keepWorst(table, c.key(), w)
			}
			logWorst(t, f.Indicator, table)
			total.add(table, f.Cases)
		})
	}
}

// key names the oracle and set of a case; ~ marks another seed.
func (c *oracleCase) key() string {
	if c.Seed != "same" {
		return "~" + c.Oracle + " " + c.Set
	}
	return c.Oracle + " " + c.Set
}

// keepWorst keeps the larger error under a key and adds the counts.
func keepWorst(table map[string]worst, key string, w worst) {
	known := table[key]
	count := known.count + w.count
	if known.line == "" || w.err > known.err {
		known = w
	}
	known.count = count
	table[key] = known
}

// logWorst prints the worst error for each key.
func logWorst(t *testing.T, name string, table map[string]worst) {
	t.Helper()
	rows := make([]string, 0, len(table))
	for key, w := range table {
		rows = append(rows, fmt.Sprintf("%-14s %-18s %8.1e  %s[%d] ours %.15g theirs %.15g", name, key, w.err, w.line, w.at, w.got, w.want))
	}
	slices.Sort(rows)
	t.Log("worst relative errors\n" + strings.Join(rows, "\n"))
}

// compare computes our indicator for the case and says what is off.
func (c *oracleCase) compare(name string, set *barSet) ([]string, worst) {
	chosen, err := ta.Resolve(ta.Request{Name: name, Params: c.Params})
	if err != nil {
		return []string{fmt.Sprintf("%s %s %s: %v", name, c.Oracle, c.Set, err)}, worst{}
	}
	return c.check(chosen.Compute(ta.Input{Env: ta.Env{Interval: set.Interval}, Bars: set.bars()}))
}

// check compares a result with the oracle's answer, channel by channel.
func (c *oracleCase) check(r *ta.Result) (problems []string, w worst) {
	for label, s := range c.Lines {
		i := slices.IndexFunc(r.Lines, func(l ta.Line) bool { return l.Label == label })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("%s has no line %q", r.Label, label))
			continue
		}
		problems = append(problems, c.series(label, r.Lines[i].Values, s, &w)...)
	}
	for place, s := range c.Hist {
		i, err := strconv.Atoi(place)
		if err != nil || i >= len(r.Hist) {
			problems = append(problems, fmt.Sprintf("%s has no histogram %s", r.Label, place))
			continue
		}
		problems = append(problems, c.series("histogram "+place, r.Hist[i].Values, s, &w)...)
	}
	for label, want := range c.Signals {
		got := []int{}
		for _, s := range r.Signals {
			if s.Label == label {
				got = append(got, s.X)
			}
		}
		if !slices.Equal(got, want) {
			problems = append(problems, fmt.Sprintf("%s by %s on %s %s: ours stands at %v, theirs at %v", label, c.Oracle, c.Set, params(c.Params), got, want))
		}
	}
	return problems, w
}

// series checks the first index, the bars without a value and the values. It
// reports the first fault only: the rest follows from it as a rule.
func (c *oracleCase) series(label string, got []float64, want oracleSeries, w *worst) []string {
	fault := func(format string, args ...any) []string {
		return []string{fmt.Sprintf("%s by %s on %s %s: ", label, c.Oracle, c.Set, params(c.Params)) + fmt.Sprintf(format, args...)}
	}
	tolerance, from := sameSeed, c.From
	if c.Seed != "same" {
		tolerance, from = otherSeed, max(from, otherSeedAt)
	}
	if first := firstValue(got); from == 0 && first != want.First {
		return fault("our first value is at %d, theirs at %d", first, want.First)
	}
	floor := median(want.Values)
	for k, y := range want.Values {
		i := want.First + k*c.Step
		if i < from || (c.Until > 0 && i >= c.Until) {
			continue
		}
		if i >= len(got) {
			return fault("we have %d values, they have one at %d", len(got), i)
		}
		x := got[i]
		if math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		e := relative(x, y, floor)
		w.record(label, i, x, y, e)
		if !(e <= tolerance) {
			return fault("at %d ours is %.15g, theirs %.15g, %.1e apart", i, x, y, e)
		}
	}
	return nil
}

// relative is the distance of got from want, in parts of want or of the line's
// median where want is nearer to zero than that. It is NaN when one is NaN.
func relative(got, want, floor float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / max(math.Abs(want), floor)
}

// median is the middle size of a line's values: the scale of its noise, which
// spikes and zeros do not move.
func median(values []float64) float64 {
	var sizes []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			sizes = append(sizes, math.Abs(v))
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

func firstValue(values []float64) int {
	return slices.IndexFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

// params writes a request's parameters in a fixed order.
func params(p map[string]json.RawMessage) string {
	raw, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
