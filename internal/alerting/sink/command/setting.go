package command

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/setting"
	"candela/lib/pattern"
)

// jsonList is a JSON list of texts, or none.
func jsonList() setting.Kind {
	return setting.Kind{Allowed: `a JSON list of at most 64 texts, such as ["-p","What now?"]`, Read: func(text string) (string, bool) {
		var all []string
		ok := text == "" || len(text) <= longestArgs && json.Unmarshal([]byte(text), &all) == nil
		return text, ok && len(all) <= mostArgs && !slices.ContainsFunc(all, func(one string) bool { return strings.ContainsRune(one, 0) })
	}}
}

// readList returns the texts of a list that jsonList has read.
func readList(text string) (all []string) {
	_ = json.Unmarshal([]byte(text), &all) // it was read before
	return all
}

// span is a time within bounds.
func span(least, most time.Duration) setting.Kind {
	return setting.Kind{Allowed: "a time from " + least.String() + " to " + most.String() + ", such as 90s", Read: func(text string) (string, bool) {
		d, err := time.ParseDuration(text)
		return d.String(), err == nil && d >= least && d <= most
	}}
}

// readSpan returns a time that span has read.
func readSpan(text string) time.Duration {
	d, _ := time.ParseDuration(text) // it was read before
	return d
}

var variable = pattern.Of(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// ours reports whether a variable is one of candela: it may hold a secret.
func ours(name string) bool { return strings.HasPrefix(strings.ToUpper(name), "CANDELA_") }

// names is a list of variables.
func names() setting.Kind {
	return setting.Kind{Allowed: "at most 32 names of variables separated by commas, without CANDELA_*", Read: func(text string) (string, bool) {
		all := strings.Split(text, ",")
		for i, one := range all {
			if all[i] = strings.TrimSpace(one); !variable().MatchString(all[i]) || ours(all[i]) {
				return "", text == ""
			}
		}
		return strings.Join(all, ","), len(all) <= 32
	}}
}
