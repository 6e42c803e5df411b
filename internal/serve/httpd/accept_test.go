package httpd

import (
	"strings"
	"testing"
)

func TestAccepts(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"":                                       true,
		",":                                      true,
		"*/*":                                    true,
		"application/*":                          true,
		"application/json":                       true,
		" Application/JSON ; q=0.5":              true,
		"application/json, text/event-stream":    true,
		"text/event-stream;q=1, */*;q=0.001":     true,
		"application/json;charset=utf-8":         true,
		"application/json;q=2":                   true, // no weight that can be read is none
		"text/plain":                             false,
		"text/event-stream":                      false,
		"application/xml":                        false,
		"application/json;q=0":                   false,
		"application/json;q=0.000":               false,
		"application/json;q=0,*/*":               false,
		"*/*,application/json;q=0":               false,
		"application/*;q=0,*/*;q=1":              false,
		"application/*;q=1,*/*;q=0":              true,
		"application/json;q=1,application/*;q=0": true,
		"*/*;q=0":                                false,
		"json":                                   false,
		"*/json":                                 false,
	} {
		if got := accepts([]string{header}, "application", "json"); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if !accepts(nil, "application", "json") || !accepts([]string{"text/plain", "application/json"}, "application", "json") {
		t.Error("no header, or the second of two, is not read")
	}
}

// FuzzAccepts holds what must be true of every header: reading it never fails,
// order does not matter, and naming the type plainly allows it unless a range as
// specific excludes it.
func FuzzAccepts(f *testing.F) {
	for _, seed := range []string{"*/*", "application/json;q=0,*/*", "text/html, application/*;q=0.2", ";;,=q", "a/b;q=0;q=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		items := strings.Split(header, ",")
		for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
			items[i], items[j] = items[j], items[i]
		}
		forward := accepts([]string{header}, "application", "json")
		if backward := accepts([]string{strings.Join(items, ",")}, "application", "json"); forward != backward {
			t.Fatalf("%q: %v forward, %v backward", header, forward, backward)
		}
		if split := accepts(items, "application", "json"); split != forward {
			t.Fatalf("%q: %v in one header, %v in several", header, forward, split)
		}
		if !strings.Contains(strings.ToLower(header), "json") && !accepts([]string{header + ",application/json"}, "application", "json") {
			t.Fatalf("%q: application/json beside it is not enough", header)
		}
	})
}
