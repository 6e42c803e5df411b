// Command figures measures what docs/performance.md says, see bench/run. It drives the benchmarks and tests of the
// project and the comparisons of bench/, reads what they print and writes the table of the page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// Files that are read and written, from the root of the project.
const (
	pagePath = "docs/performance.md"
	lastPath = "bench/figures.json"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each part is measured, in turns with the others")
	only := flag.String("only", "", "names of parts, with commas between; all without it")
	compare := flag.String("compare", "", "a file to write to: the table and "+lastPath+" stay, and differences from the latter are printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *rounds, *only, *compare)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, only, compare string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	var last report
	if err := last.read(lastPath); err != nil {
		return err
	}
	now, failed := measure(ctx, chosen, rounds)
	now.stamp(ctx)
	for _, m := range now.Missing {
		fmt.Printf("NOT MEASURED: %s: %s\n", m.Part, m.Why)
	}
	now.differences(&last, func(line string) { fmt.Println(line) })
	if compare != "" {
		return errors.Join(failed, now.write(compare))
	}
	now.addFrom(&last)
	page, err := os.ReadFile(pagePath)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	written, err := fill(string(page), &now)
	if err != nil {
		return err
	}
	return errors.Join(failed, now.write(lastPath), os.WriteFile(pagePath, []byte(written), 0o644))
}

// choose returns the parts of those names.
func choose(only string) ([]part, error) {
	all := parts()
	if only == "" {
		return all, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			names := make([]string, len(all))
			for k, p := range all {
				names[k] = p.name
			}
			return nil, fmt.Errorf("-only: there is no part %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// measure runs the parts in turns. A part that fails is not tried again: what it gave is left out.
func measure(ctx context.Context, all []part, rounds int) (report, error) {
	var (
		found  = map[string][]float64{}
		out    = report{Figures: map[string]figure{}, Rounds: rounds}
		broken = map[string]bool{}
		failed error
	)
	for round := range rounds {
		for _, p := range all {
			why := p.lacks()
			switch {
			case why != "" && round == 0:
				out.Missing = append(out.Missing, missing{p.name, why})
			case why != "" || broken[p.name] || p.once && round > 0:
			default:
				if err := p.measure(ctx, found); err != nil {
					broken[p.name] = true
					out.Missing = append(out.Missing, missing{p.name, "failed"})
					failed = errors.Join(failed, err)
				}
			}
		}
	}
	for _, p := range all {
		if !broken[p.name] && p.lacks() == "" {
			p.sum(found, out.Figures)
		}
	}
	return out, failed
}

// lacks says what the part needs and the machine does not have.
func (p *part) lacks() string {
	for _, need := range p.needs {
		name, variable := strings.CutPrefix(need, "$")
		if _, err := exec.LookPath(name); variable && os.Getenv(name) == "" || !variable && err != nil {
			return need + " is missing"
		}
	}
	return ""
}

// measure runs the commands of a part once and adds what they print.
func (p *part) measure(ctx context.Context, found map[string][]float64) error {
	began := time.Now()
	var printed strings.Builder
	for _, line := range p.commands {
		command := exec.CommandContext(ctx, "bash", "-c", line)
		output, err := command.CombinedOutput()
		printed.Write(output)
		if err != nil {
			return fmt.Errorf("%s: %s: %w\n%s", p.name, line, err, output)
		}
	}
	fmt.Printf("%s, %.0f s\n", p.name, time.Since(began).Seconds())
	for _, r := range p.readings {
		value, err := r.of(printed.String())
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", p.name, err, printed.String())
		}
		found[r.figure] = append(found[r.figure], value)
	}
	return nil
}

// sum adds the medians of a part, with their spread.
func (p *part) sum(found map[string][]float64, to map[string]figure) {
	for _, r := range p.readings {
		if values := slices.Sorted(slices.Values(found[r.figure])); len(values) > 0 {
			to[r.figure] = figure{Median: middle(values), Least: values[0], Most: values[len(values)-1], Unit: r.unit, Rounds: len(values)}
		}
	}
}
