package console

import (
	"fmt"
	"strings"

	"candela/internal/trading/deploy"
	"candela/internal/work/research/report"
	"candela/lib/fault"
)

// trust is what the owner reads of a back-test before a strategy starts.
type trust struct {
	backtestRow
	Equity *spark
	Facts  [][2]string // how far it is to be trusted
}

// curvePoints bounds the points of a drawn line.
const curvePoints = 320

func newTrust(found *report.Report) *trust {
	t := &trust{backtestRow: newBacktestRow(report.Kept{Report: found})}
	if equity := thin(found.Curve.Brief().Equity, curvePoints); len(equity) > 1 {
		t.Equity = newSpark(equity, curveWidth, curveHeight)
	}
	if len(found.Sections) > 0 {
		t.Facts = found.Sections[0].Facts
	}
	return t
}

// asks says what a strategy asked the venue for in its back-test.
func asks(n *deploy.Needs) string {
	var all []string
	for _, one := range []struct {
		count int
		what  string
	}{
		{n.Entries, "entries at the market"},
		{n.Limits, "at a limit"},
		{n.Stops, "at a stop"},
		{n.Shorts, "of them short"},
		{n.Unguarded, "without a stop"},
		{n.Closes, "exits at the market"},
		{n.Lines, "stops and targets"},
		{n.Trails, "of them trailing"},
	} {
		if one.count > 0 {
			all = append(all, fmt.Sprint(one.count, " ", one.what))
		}
	}
	return strings.Join(all, ", ")
}

// flagged names flags in words.
func flagged(flags []string) string {
	words := make([]string, len(flags))
	for i, f := range flags {
		words[i] = fault.Clean(strings.ReplaceAll(f, "_", " "), 40)
	}
	return strings.Join(words, ", ")
}
