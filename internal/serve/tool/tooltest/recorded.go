package tooltest

import (
	"embed"
	"encoding/json"
	"fmt"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// Recorded is a tool as its file in recorded has it. go test ./internal/serve/tool -update writes the files.
type Recorded struct {
	Scope string `json:"scope"`         // that a caller needs
	Set   string `json:"set,omitempty"` // "" for a tool that is always listed
	mcp.Tool
}

//go:embed recorded
var files embed.FS

// All returns the recorded tools, by name.
func All() []Recorded {
	entries, err := files.ReadDir("recorded")
	if err != nil {
		panic(err)
	}
	all := make([]Recorded, len(entries))
	for i, e := range entries {
		data, err := files.ReadFile("recorded/" + e.Name())
		if err == nil {
			err = json.Unmarshal(data, &all[i])
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
	}
	return all
}

// InSet returns the names of the tools of a set, those that are always listed for "".
func InSet(set string) []string {
	var names []string
	for _, r := range All() {
		if r.Set == set {
			names = append(names, r.Name)
		}
	}
	return names
}

// AllScopes returns the scope that each tool needs, with those of the tool sets.
func AllScopes() map[string]principal.Scope { return scopes(func(*Recorded) bool { return true }) }

// Extra returns the scope that each tool of the tool sets needs.
func Extra() map[string]principal.Scope {
	return scopes(func(r *Recorded) bool { return r.Set != "" })
}

// Scopes returns the scope that each tool needs which is always listed.
func Scopes() map[string]principal.Scope {
	return scopes(func(r *Recorded) bool { return r.Set == "" })
}

func scopes(of func(*Recorded) bool) map[string]principal.Scope {
	all := map[string]principal.Scope{}
	for _, r := range All() {
		scope, ok := principal.ParseScope(r.Scope)
		if !ok {
			panic(r.Name + " has the scope " + r.Scope)
		}
		if of(&r) {
			all[r.Name] = scope
		}
	}
	return all
}
