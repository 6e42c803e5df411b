package rehearse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// The bounds of what is recorded.
const (
	maxAnswer = 4 << 20
	maxKinds  = 200  // of answers
	maxFields = 4000 // of one kind
)

// Answer is one kind of answer: its fields and their types, never a value.
type Answer struct {
	Method string              `json:"method"`
	Path   string              `json:"path"` // with * for what names an order
	Status int                 `json:"status"`
	Codes  []string            `json:"codes,omitempty"` // the venue's numbers of its refusals
	Fields map[string][]string `json:"fields"`          // such as "[].orderId": ["number"]
}

func (a Answer) compare(b Answer) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status))
}

// record gathers answers. It is safe for concurrent use.
type record struct {
	mu  sync.Mutex
	all []Answer
}

func (r *record) answers() []Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.all)
	slices.SortFunc(all, Answer.compare)
	return all
}

// note records an answer in JSON and leaves it as it was. Others, such as streams, pass.
func (r *record) note(resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols || resp.Body == nil {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	var value any
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	if in.Decode(&value) != nil {
		return nil //nolint:nilerr // what is no JSON has no fields
	}
	r.add(Answer{Method: resp.Request.Method, Path: template(resp.Request.URL.Path), Status: resp.StatusCode}, value)
	return nil
}

func (r *record) add(a Answer, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(known Answer) bool { return known.compare(a) == 0 })
	if i < 0 {
		if len(r.all) == maxKinds {
			return
		}
		a.Fields = make(map[string][]string)
		r.all = append(r.all, a)
		i = len(r.all) - 1
	}
	fields(r.all[i].Fields, "", value)
	if doc, ok := value.(map[string]any); ok && a.Status >= http.StatusBadRequest {
		if code, ok := doc["code"].(json.Number); ok && !slices.Contains(r.all[i].Codes, code.String()) && len(r.all[i].Codes) < maxKinds {
			r.all[i].Codes = append(r.all[i].Codes, code.String())
		}
	}
}

// fields adds the types of a value and of all within it.
func fields(to map[string][]string, at string, value any) {
	kind := "null"
	switch v := value.(type) {
	case map[string]any:
		kind = "object"
		for name, inner := range v {
			fields(to, strings.TrimPrefix(at+"."+name, "."), inner)
		}
	case []any:
		kind = "array"
		for _, inner := range v {
			fields(to, at+"[]", inner)
		}
	case string:
		kind = "string"
	case json.Number:
		kind = "number"
	case bool:
		kind = "boolean"
	}
	at = cmp.Or(at, ".")
	if known := to[at]; !slices.Contains(known, kind) && (known != nil || len(to) < maxFields) {
		to[at] = append(known, kind)
		slices.Sort(to[at])
	}
}

// template returns a path without the names of orders.
func template(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if len(p) >= 8 && strings.ContainsAny(p, "0123456789") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// Compare returns what one record of answers has and another contradicts: a type that it never has there, or a
// field that it lacks in answers of a kind that both have. It is how a fake venue is held to a record of the real one.
func Compare(venue, fake []Answer) []string {
	var found []string
	for _, want := range venue {
		i := slices.IndexFunc(fake, func(a Answer) bool { return a.compare(want) == 0 })
		if i < 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(fake[i].Fields)) {
			kinds, known := want.Fields[name]
			for _, kind := range fake[i].Fields[name] {
				if kind != "null" && !slices.Contains(kinds, kind) {
					found = append(found, want.Method+" "+want.Path+": "+name+" is "+kind+differs(known, kinds))
				}
			}
		}
	}
	return found
}

func differs(known bool, kinds []string) string {
	if !known {
		return ", and the venue has no such field"
	}
	return ", and " + strings.Join(kinds, " or ") + " at the venue"
}
