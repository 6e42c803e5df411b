package app

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkEvidence places dry runs on a symbol whose bars an alert watches, in turns without a reason and with eight, at a
// program that is called over stdio. It reports the times of both, their differences and the processor time of each.
func BenchmarkEvidence(b *testing.B) {
	p := startProgram(b, "--policy", ownPolicy(b, "max_orders_per_minute = \"none\"\nduplicate_window = \"0s\"\n"))
	if text, failed := p.call("set_alert", `{"symbol":"BTCUSDT","interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":0.001}}}`); failed {
		b.Fatal(text)
	}
	names := []string{"rsi", "ema20", "sma50", "atr", "cci", "roc", "wma", "stddev"}
	claims := make([]string, len(names))
	for i, name := range names {
		claims[i] = fmt.Sprintf(`{"interval":"1h","value":{"indicator":%q,"op":">","value":-1000000}}`, name)
	}
	bare := `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":0.001,"dry_run":true%s}`
	because := fmt.Sprintf(bare, `,"because":[`+strings.Join(claims, ",")+`]`)
	bare = fmt.Sprintf(bare, "")
	var plain, reasoned timings
	for range 3 { // the bars are read once
		plain.place(b, p, bare)
		reasoned.place(b, p, because)
	}
	plain, reasoned = timings{}, timings{}
	for b.Loop() {
		plain.place(b, p, bare)
		reasoned.place(b, p, because)
	}
	plain.report(b, "plain")
	reasoned.report(b, "claims")
	n := len(plain.took)
	for name, at := range map[string]int{"p50": n / 2, "p99": n * 99 / 100} {
		b.ReportMetric(float64((reasoned.took[at] - plain.took[at]).Microseconds()), "more-"+name+"-us")
		b.ReportMetric(float64((reasoned.cpu[at] - plain.cpu[at]).Microseconds()), "more-cpu-"+name+"-us")
	}
}

// timings is calls with the time and the processor time that they took.
type timings struct {
	took, cpu []time.Duration
}

func (s *timings) place(b *testing.B, p *program, arguments string) {
	b.Helper()
	began, used := time.Now(), processorTime(b)
	text, failed := p.call("place_order", arguments)
	s.took, s.cpu = append(s.took, time.Since(began)), append(s.cpu, processorTime(b)-used)
	if failed || strings.Contains(text, `"true":false`) || strings.Contains(text, `"true":null`) {
		b.Fatalf("%.600s", text)
	}
}

func (s *timings) report(b *testing.B, name string) {
	b.Helper()
	for unit, times := range map[string][]time.Duration{"": s.took, "cpu-": s.cpu} {
		slices.Sort(times)
		n := len(times)
		b.ReportMetric(float64(times[n/2].Microseconds()), name+"-"+unit+"p50-us")
		b.ReportMetric(float64(times[n*99/100].Microseconds()), name+"-"+unit+"p99-us")
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
