// Package research has the commands that ask about the past, and those about Pine scripts.
package research

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"candela/cmd/candela/cli"

	"candela/internal/app"
	"candela/internal/serve/tool"
	"candela/internal/work/research"
	"candela/internal/work/research/report"
	"candela/lib/fault"
	"candela/lib/ta"
)

// question is a question about the past from the command line.
type question struct {
	read  func(ta.Library, []tool.Word) (research.Question, error)
	words []tool.Word

	csv, html, output, theme string
	asJSON, quiet            bool
}

// Backtest runs rules or a script over past bars.
func Backtest(ctx context.Context, in cli.Call) error {
	q := &question{read: tool.BacktestOf}
	rest, err := q.parse(in.Args, append(q.plain("bars", "capital", "size_pct", "quantity", "fee_bps", "slip_bps", "leverage", "oos_pct", "seed", "from", "to", "fill_model", "magnify"),
		cli.ValueFlag("--rules", q.setRules), cli.ValueFlag("--script", q.setScript), cli.ValueFlag("--sweep", q.setJSON("sweep")), cli.ValueFlag("--inputs", q.setJSON("inputs")), cli.ValueFlag("--walk-forward", q.setWalk)))
	if err != nil {
		return err
	}
	return q.runOn(ctx, in, rest, "candela backtest SYMBOL INTERVAL")
}

// TestAlert asks when an alert would have fired.
func TestAlert(ctx context.Context, in cli.Call) error {
	q := &question{read: tool.AlertTestOf}
	rest, err := q.parse(in.Args, append(q.plain("bars", "seed", "from", "to"), cli.ValueFlag("--condition", q.setJSON("condition"))))
	if err != nil {
		return err
	}
	return q.runOn(ctx, in, rest, "candela test-alert SYMBOL INTERVAL")
}

// Scan asks which symbols meet a condition.
func Scan(ctx context.Context, in cli.Call) error {
	q := &question{read: tool.ScanOf}
	rest, err := q.parse(in.Args, append(q.plain("limit", "within_bars", "max_seconds", "symbols", "order"),
		cli.ValueFlag("--condition", q.setJSON("condition")), cli.ValueFlag("--columns", q.setColumns), cli.ValueFlag("--list", q.setList), cli.ValueFlag("--rank", q.setText("rank_by"))))
	if err != nil {
		return err
	}
	interval, rest := cli.CutWord(rest)
	if interval == "" {
		return fault.Missing("INTERVAL", "candela scan INTERVAL, such as 4h")
	}
	if !slices.ContainsFunc(q.words, func(w tool.Word) bool { return w.Name == "symbols" }) {
		return fault.Missing("--symbols", "BTCUSDT,ETHUSDT and so on, or --list FILE with a symbol in each line")
	}
	q.add("interval", interval)
	found, err := q.run(ctx, in, rest)
	if err != nil {
		return err
	}
	if s := found.Scan; !s.Complete {
		return fmt.Errorf("the scan is not complete: %d of %d symbols are missing", s.Asked-s.Done, s.Asked)
	}
	return nil
}

// parse reads the flags that all questions have, and those given. It returns the rest.
func (q *question) parse(args []string, more []cli.Flag) ([]string, error) {
	return cli.CutFlags(args, map[string]*bool{"--json": &q.asJSON, "--quiet": &q.quiet}, append(more,
		cli.TextFlag("--csv", &q.csv, "a file, or - for standard output"), cli.TextFlag("--html", &q.html, "a file"),
		cli.TextFlag("--output", &q.output, "a PNG file"), cli.TextFlag("--theme", &q.theme, "dark or light")))
}

// plain are flags whose texts are arguments of the tool, which judges them.
func (q *question) plain(names ...string) []cli.Flag {
	flags := make([]cli.Flag, len(names))
	for i, name := range names {
		flags[i] = cli.ValueFlag("--"+strings.ReplaceAll(name, "_", "-"), q.setText(name))
	}
	return flags
}

func (q *question) add(name, text string) {
	q.words = append(q.words, tool.Word{Name: name, Text: text})
}

func (q *question) setText(name string) func(string) error {
	return func(value string) error {
		q.add(name, value)
		return nil
	}
}

// setJSON sets an argument from JSON, or from a file that has it.
func (q *question) setJSON(name string) func(string) error {
	return func(value string) error {
		raw, err := readJSON("--"+name, value)
		q.words = append(q.words, tool.Word{Name: name, JSON: raw})
		return err
	}
}

func readJSON(flag, value string) (json.RawMessage, error) {
	text := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var err error
		if text, err = os.ReadFile(value); err != nil { //nolint:gosec // the operator names the file
			return nil, fault.Field(flag, value, "a JSON object, or a file that has one").Because(err)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		return nil, fault.Field(flag, value, "a JSON object")
	}
	return compact.Bytes(), nil
}

// setRules reads rules: an object with long, short and any other argument of the tool.
func (q *question) setRules(value string) error {
	raw, err := readJSON("--rules", value)
	if err != nil {
		return err
	}
	var rules map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rules); err != nil {
		return fault.Field("--rules", value, `an object such as {"long":{"enter":...,"exit":...}}`)
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		q.words = append(q.words, tool.Word{Name: name, JSON: rules[name]})
	}
	return nil
}

// setScript reads the script of a file, or takes the name of a stored one.
func (q *question) setScript(value string) error {
	source, err := os.ReadFile(value) //nolint:gosec // the operator names the file
	switch {
	case err == nil:
		q.add("script", string(source))
	case strings.ContainsAny(value, "./"):
		return fault.Field("--script", value, "a file with a Pine script, or the name of a stored one").Because(err)
	default:
		q.add("script_name", value)
	}
	return nil
}

// setWalk reads the lengths of a walk forward.
func (q *question) setWalk(value string) error {
	var train, test int
	if n, err := fmt.Sscanf(value+"\n", "%d:%d\n", &train, &test); err != nil || n != 2 {
		return fault.Field("--walk-forward", value, "two numbers of bars such as 2000:500")
	}
	q.words = append(q.words, tool.Word{Name: "walk_forward", JSON: fmt.Appendf(nil, `{"train":%d,"test":%d}`, train, test)})
	return nil
}

// setColumns reads names with commas between them, or a JSON list.
func (q *question) setColumns(value string) error {
	if strings.HasPrefix(value, "[") && json.Valid([]byte(value)) {
		q.words = append(q.words, tool.Word{Name: "columns", JSON: json.RawMessage(value)})
		return nil
	}
	q.add("columns", value)
	return nil
}

// setList reads symbols from a file: words, with # before a remark.
func (q *question) setList(value string) error {
	text, err := os.ReadFile(value) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("read symbols: %w", err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		all = append(all, line)
	}
	q.add("symbols", strings.Join(all, " "))
	return nil
}

// runOn runs a question about one symbol and interval.
func (q *question) runOn(ctx context.Context, in cli.Call, args []string, usage string) error {
	symbol, args := cli.CutWord(args)
	interval, args := cli.CutWord(args)
	if symbol == "" || interval == "" {
		return fault.Missing("SYMBOL INTERVAL", usage+", such as BTCUSDT 4h")
	}
	q.add("symbol", symbol)
	q.add("interval", interval)
	_, err := q.run(ctx, in, args)
	return err
}

// run asks the question and writes the answer where the flags say.
func (q *question) run(ctx context.Context, in cli.Call, args []string) (*app.Research, error) {
	cfg, err := in.Config(args)
	if err != nil {
		return nil, err
	}
	shown, finish := progressOn(in.Stderr)
	if q.quiet {
		shown, finish = nil, func() {}
	}
	read := func(l ta.Library) (research.Question, error) { return q.read(l, q.words) }
	found, err := app.RunResearch(ctx, cfg, in.Deps, read, shown)
	finish()
	if err != nil {
		return nil, err
	}
	if err := q.files(found, in.Stdout); err != nil {
		return nil, err
	}
	switch {
	case q.asJSON:
		_, err = fmt.Fprintf(in.Stdout, "%s\n", found.Report.Answer)
	case q.csv != "-":
		err = found.Report.Print(cli.Fit(in.Stdout), report.Printing{Width: cli.Width(in.Stdout), Paint: painter(cli.PaintFor(in.Stdout, in.Environ))})
	}
	return found, err
}

// painter colours the cells of a report.
func painter(p cli.Paint) func(class, text string) string {
	return func(class, text string) string {
		switch class {
		case "up":
			return p.Good(text)
		case "down":
			return p.Bad(text)
		case "warn":
			return p.Warn(text)
		case "head":
			return p.Dim(text)
		}
		return text
	}
}

// files writes the files that the flags name.
func (q *question) files(found *app.Research, stdout io.Writer) error {
	if q.csv != "" {
		var out bytes.Buffer
		if err := found.Report.Tables[0].CSV(&out); err != nil {
			return err
		}
		if err := writeOut(q.csv, out.Bytes(), stdout); err != nil {
			return err
		}
	}
	if q.output != "" {
		png, err := found.PNG(q.theme)
		if err != nil {
			return err
		}
		if err := writeOut(q.output, png, stdout); err != nil {
			return err
		}
	}
	if q.html == "" {
		return nil
	}
	var page bytes.Buffer
	if err := found.Report.Page(&page, found.PNG); err != nil {
		return err
	}
	return writeOut(q.html, page.Bytes(), stdout)
}

func writeOut(path string, data []byte, stdout io.Writer) error {
	if path == "-" {
		_, err := stdout.Write(data)
		return err
	}
	return os.WriteFile(path, data, 0o644) //nolint:gosec // G306: the umask decides who may read a report
}

// progressOn shows how far a command is: in one line of a terminal, which finish erases, otherwise in a line
// every ten seconds.
func progressOn(w io.Writer) (show func(done, total int, message string), finish func()) {
	const every = 10 * time.Second
	if cli.Terminal(w) {
		return func(done, total int, message string) {
			fmt.Fprintf(w, "\r\033[K%3d %%  %s", 100*done/max(total, 1), message)
		}, func() { fmt.Fprint(w, "\r\033[K") }
	}
	last := time.Now() // what ends within ten seconds needs no line
	return func(_, _ int, message string) {
		if time.Since(last) >= every {
			last = time.Now()
			fmt.Fprintln(w, message)
		}
	}, func() {}
}
