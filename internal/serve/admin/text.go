package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// textType is the content type of the Prometheus text format, version 0.0.4.
const textType = "text/plain; version=0.0.4; charset=utf-8"

// sample is one line of a metric.
type sample struct {
	suffix string // such as "_bucket"
	labels string // in braces, "" for none
	group  string // of a histogram: the labels of all its lines
	order  int    // position within the group
	value  float64
}

// text collects samples and writes them grouped by metric. It is not safe for concurrent
// use.
type text struct {
	metrics []metric // in the order of writing
	samples map[string][]sample
}

func newText(metrics []metric) *text {
	return &text{metrics: metrics, samples: make(map[string][]sample, len(metrics))}
}

func (t *text) add(name string, s sample) { t.samples[name] = append(t.samples[name], s) }

// labels formats names and values in braces. A value without a name is omitted; tests
// compare every call with the table.
func labels(names, values []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), len(values))] {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(name)
		b.WriteString(`="`)
		writeEscaped(&b, values[i], true)
		b.WriteByte('"')
	}
	if b.Len() > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

// writeEscaped escapes a text for one line and, if quoted, for a label value.
func writeEscaped(b *strings.Builder, text string, quoted bool) {
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '"' && quoted:
			b.WriteString(`\"`)
		default:
			b.WriteRune(r)
		}
	}
}

// bytes writes every metric that has samples.
func (t *text) bytes() []byte {
	var b strings.Builder
	for _, m := range t.metrics {
		samples := t.samples[m.name]
		if len(samples) == 0 {
			continue
		}
		slices.SortStableFunc(samples, func(x, y sample) int {
			return cmp.Or(strings.Compare(cmp.Or(x.group, x.labels), cmp.Or(y.group, y.labels)), cmp.Compare(x.order, y.order))
		})
		b.WriteString("# HELP " + m.name + " ")
		writeEscaped(&b, m.help, false)
		b.WriteString("\n# TYPE " + m.name + " " + string(m.kind) + "\n")
		for _, s := range samples {
			b.WriteString(m.name + s.suffix + s.labels + " " + format(s.value) + "\n")
		}
	}
	return []byte(b.String())
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
