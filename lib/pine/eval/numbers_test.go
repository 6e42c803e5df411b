package eval_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestNumbers_AsJava holds str.tostring and str.format to 10,000 values that Java wrote:
// testdata/java/Numbers.java has the command.
func TestNumbers_AsJava(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/java/numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	byPattern, count, wrong := map[string][]written{}, 0, 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		part := strings.Split(lines.Text(), "\t")
		bits, err := strconv.ParseUint(part[0], 16, 64)
		if err != nil || len(part) != 4 {
			t.Fatal(lines.Text())
		}
		key := part[1] + part[2]
		byPattern[key] = append(byPattern[key], written{math.Float64frombits(bits), part[3]})
	}
	for key, all := range byPattern {
		for i, got := range spelled(t, key, all) {
			if got != all[i].text {
				if wrong++; wrong < 40 {
					t.Errorf("%v as %q is %q, want %q", all[i].value, key[1:], got, all[i].text)
				}
			}
		}
	}
	if count != 10_000 || wrong > 0 {
		t.Errorf("%d of %d values differ", wrong, count)
	}
}

// written is a number with the text that Java gives for it.
type written struct {
	value float64
	text  string
}

// spelled has a script write values, which reach it as the closes of its bars.
func spelled(t *testing.T, key string, all []written) []string {
	t.Helper()
	call := fmt.Sprintf("str.tostring(close, %q)", key[1:])
	if key[0] == 'm' {
		call = fmt.Sprintf("str.format(%q, close)", key[1:])
	}
	m := compile(t, "//@version=6\nindicator(\"t\")\nlog.info(\"{0}\", "+call+")\nplot(1)\n", hourly())
	var out []string
	for i, w := range all {
		bar := ramp(1)[0]
		bar.T += int64(i) * 3600
		bar.C = w.value
		if err := m.Keep(bar); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Clone(m.Logs()[0]))
	}
	return out
}
