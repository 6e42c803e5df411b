package check

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"candela/internal/testkit/sharedtest"
)

// TestCheck_EveryStrategyOfTheCorpus checks the 251 strategies whose trades TradingView
// exported.
func TestCheck_EveryStrategyOfTheCorpus(t *testing.T) {
	t.Parallel()
	file, err := os.Open(sharedtest.Path(t, "data/pine/strategies.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	zipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for files := tar.NewReader(zipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".pine") {
			continue
		}
		source, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		all++
		if p, found := Check(string(source), Options{}); p == nil {
			t.Errorf("%s: %+v", h.Name, found[0])
		} else if p.Kind != Strategy {
			t.Errorf("%s is not a strategy", h.Name)
		}
	}
	if all != 251 {
		t.Errorf("%d strategies", all)
	}
}

// TestNames_OfPublicScripts holds the tables to the names that 982 public scripts use.
func TestNames_OfPublicScripts(t *testing.T) {
	t.Parallel()
	usage, err := os.ReadFile(sharedtest.Path(t, "design/pine-usage.csv"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"chart.point": true}
	for _, n := range Names() {
		known[n.Name] = true
	}
	for line := range strings.Lines(string(usage)) {
		name, _, _ := strings.Cut(line, ",")
		// Constants are counted by family; strategy.<field> is a variable of one script.
		if name == "name" || strings.Contains(name, ":") || strings.Contains(name, "<") || oneScriptsOwn(name) {
			continue
		}
		if !known[name] {
			t.Errorf("%s is in no table", name)
		}
	}
}

func oneScriptsOwn(name string) bool {
	field, ok := strings.CutPrefix(name, "strategy.")
	return ok && (field != strings.ToLower(field) || field == "name" || field == "category")
}

// TestCheck_Hostile has scripts made to cost much; each ends with the right code.
func TestCheck_Hostile(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString(head + "f0(x) => ta.ema(x, 3)\n")
	for i := range 20 {
		a, b := string(rune('a'+i)), string(rune('a'+i-1))
		if i == 0 {
			b = "0"
		}
		bomb.WriteString("f" + a + "(x) => f" + b + "(x) + f" + b + "(x + 1)\n")
	}
	bomb.WriteString("plot(ft(close))\n")
	requests := strings.ReplaceAll(bomb.String(), "ta.ema(x, 3)", "request.security(\"\", \"D\", x)")
	for name, c := range map[string]struct{ source, code string }{
		"calls that double":     {bomb.String(), "pine_calls"},
		"requests that double":  {requests, "pine_requests"},
		"deep parentheses":      {head + "plot(" + strings.Repeat("(", 50_000) + "1" + strings.Repeat(")", 50_000) + ")", "pine_size"},
		"deep blocks":           {head + deepBlocks(100), "pine_size"},
		"too many bytes":        {head + strings.Repeat("// a\n", 60_000), "pine_size"},
		"too many tokens":       {head + strings.Repeat("1,", 110_000), "pine_size"},
		"a long sum":            {head + "plot(1" + strings.Repeat("+1", 50_000) + ")", "pine_size"},
		"functions in a circle": {head + "f(x) => g(x)\ng(x) => f(x)\nplot(f(1))", "pine_recursion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, found := Check(c.source, Options{})
			if p != nil || len(found) == 0 {
				t.Fatal("accepted")
			}
			for _, d := range found {
				if d.Code == c.code {
					return
				}
			}
			t.Errorf("got %+v", found[0])
		})
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("    ", i) + "if close > open\n")
	}
	return b.String() + strings.Repeat("    ", n) + "alert(\"\")\n"
}
