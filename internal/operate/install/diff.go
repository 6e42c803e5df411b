package install

import (
	"fmt"
	"slices"
	"strings"
)

// around is the number of unchanged lines a diff shows beside a change. It is small because
// secrets of other servers may be near.
const around = 1

// maxCells bounds the memory of a diff. A larger one shows everything between the first and
// the last change as replaced.
const maxCells = 1 << 20

// Diff returns the differences of two texts in the unified format.
func Diff(path, before, after string) string {
	if before == after {
		return ""
	}
	a, b := lines(before), lines(after)
	head, tail := 0, 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, to := max(head-around, 0), min(tail, around)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(from, len(a)-tail+to-from), span(from, len(b)-tail+to-from))
	write := func(mark byte, line string) {
		out.WriteByte(mark)
		out.WriteString(strings.TrimRight(line, "\r\n"))
		out.WriteByte('\n')
	}
	for _, l := range a[from:head] {
		write(' ', l)
	}
	middle(a[head:len(a)-tail], b[head:len(b)-tail], write)
	for _, l := range a[len(a)-tail : len(a)-tail+to] {
		write(' ', l)
	}
	return out.String()
}

func span(from, count int) string {
	if count > 0 {
		from++
	}
	return fmt.Sprintf("%d,%d", from, count)
}

func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// middle writes the differing lines, by the longest common subsequence.
func middle(a, b []string, write func(mark byte, line string)) {
	if len(a)*len(b) > maxCells {
		for _, l := range a {
			write('-', l)
		}
		for _, l := range b {
			write('+', l)
		}
		return
	}
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, left := range slices.Backward(a) {
		for j, right := range slices.Backward(b) {
			if left == right {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			write(' ', a[i])
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			write('-', a[i])
			i++
		default:
			write('+', b[j])
			j++
		}
	}
}
