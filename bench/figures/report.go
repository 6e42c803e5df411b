package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is what was measured. Its file is compared with the next one.
type report struct {
	Measured string            `json:"measured"`
	Commit   string            `json:"commit"`
	Machine  string            `json:"machine"`
	Rounds   int               `json:"rounds"`
	Figures  map[string]figure `json:"figures"`
	Missing  []missing         `json:"not_measured,omitempty"`
}

// figure is the median of the rounds with its spread. Measured and Commit are set where another run has measured it.
type figure struct {
	Median   float64 `json:"median"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Unit     string  `json:"unit,omitempty"`
	Rounds   int     `json:"rounds"`
	Measured string  `json:"measured,omitempty"`
	Commit   string  `json:"commit,omitempty"`
}

// missing is a part that was not measured.
type missing struct {
	Part string `json:"part"`
	Why  string `json:"why"`
}

// stamp says when, from which commit and on which machine the figures are.
func (r *report) stamp(ctx context.Context) {
	r.Measured = time.Now().UTC().Format(time.DateOnly)
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		r.Commit = strings.TrimSpace(string(commit))
	}
	model := runtime.GOARCH
	if about, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, ok := strings.Cut(string(about), "model name\t: "); ok {
			model, _, _ = strings.Cut(after, "\n")
		}
	}
	r.Machine = fmt.Sprintf("%d x %s, %s", runtime.NumCPU(), model, runtime.Version())
}

// read reads the file of a report. Without a file there are no figures.
func (r *report) read(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func (r *report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// addFrom adds the figures of an earlier report that were not measured now.
func (r *report) addFrom(last *report) {
	for name, f := range last.Figures {
		if _, known := r.Figures[name]; !known {
			if f.Measured == "" {
				f.Measured, f.Commit = last.Measured, last.Commit
			}
			r.Figures[name] = f
		}
	}
}

// apart is by how much of itself a median must differ before it is named, if it is outside the spread too.
const apart = 0.1

// differences names the figures that are not as they were.
func (r *report) differences(last *report, say func(line string)) {
	if last.Measured != "" && last.Machine != r.Machine {
		say("the last figures are from another machine: " + last.Machine)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		now := r.Figures[name]
		was, known := last.Figures[name]
		outside := now.Median < was.Least || now.Median > was.Most
		if known && outside && (now.Median < was.Median*(1-apart) || now.Median > was.Median*(1+apart)) {
			say(fmt.Sprintf("%s was %s, is %s", name, was.spread(), now.spread()))
		}
	}
}

// spread writes a figure with the least and the most of the rounds.
func (f *figure) spread() string {
	return f.short() + " [" + digits(f.Least) + "-" + digits(f.Most) + "]"
}

// short writes a figure.
func (f *figure) short() string { return strings.TrimSpace(digits(f.Median) + " " + f.Unit) }

// digits writes a number with two digits after its first one, and whole from 100 on.
func digits(x float64) string {
	switch {
	case x >= 1000 || x == float64(int64(x)):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
