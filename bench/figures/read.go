package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reading says how a figure is read from what a part prints.
type reading struct {
	figure  string
	pattern *regexp.Regexp // its first group is the number, its second one a unit of time, if there is one
	scale   float64        // of the number
	unit    string         // of the figure
	per     *regexp.Regexp // of what the figure is a ratio to; nil for none
}

// bench reads a metric of a benchmark, which may have run several times.
func bench(figure, name, metric string, scale float64, unit string) reading {
	return reading{figure: figure, pattern: benchmark(name, metric), scale: scale, unit: unit}
}

// ratio reads a metric of a benchmark as a ratio to that of another.
func ratio(figure, name, to, metric string) reading {
	return reading{figure: figure, pattern: benchmark(name, metric), scale: 1, unit: "", per: benchmark(to, metric)}
}

func benchmark(name, metric string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^Benchmark` + regexp.QuoteMeta(name) + `(?:-\d+)?\s.*?\s([\d.e+]+) ` + regexp.QuoteMeta(metric) + `(?:\s|$)`)
}

// text reads a number where the pattern has it.
func text(figure, pattern string, scale float64, unit string) reading {
	return reading{figure: figure, pattern: regexp.MustCompile("(?m)" + pattern), scale: scale, unit: unit}
}

// of returns the median of what the output has.
func (r *reading) of(output string) (float64, error) {
	value, err := medianOf(r.pattern, output)
	if err == nil && r.per != nil {
		var per float64
		per, err = medianOf(r.per, output)
		value /= per
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", r.figure, err)
	}
	return value * r.scale, nil
}

func medianOf(pattern *regexp.Regexp, output string) (float64, error) {
	var all []float64
	for _, m := range pattern.FindAllStringSubmatch(output, -1) {
		x, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number: %w", m[1], err)
		}
		if len(m) > 2 {
			x *= map[string]float64{"s": 1000, "ms": 1, "µs": 0.001}[m[2]]
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("nothing matches %s", pattern)
	}
	slices.Sort(all)
	return middle(all), nil
}

// middle returns the median of ascending numbers.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
