package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"candela/lib/fault"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 16 << 10

// params holds the parameters of a request. Each has one value, except resource (RFC
// 8707 2). An empty value means absent, RFC 6749 3.1.
type params struct {
	values    map[string]string
	resources []string
}

func (p params) get(name string) string { return p.values[name] }

// set adds a parameter, or reports false if it is a duplicate.
func (p *params) set(name, value string) bool {
	if name == "resource" {
		if value != "" {
			p.resources = append(p.resources, value)
		}
		return true
	}
	if _, again := p.values[name]; again {
		return false
	}
	p.values[name] = value
	return true
}

func repeated(name string) *Error {
	return invalidRequest("the parameter " + shown(name) + " is repeated")
}

// shown bounds text that a client has sent, to quote it.
func shown(text string) string { return fault.Truncate(cleanName(text), 40) }

// parseForm reads a query or a form.
func parseForm(encoded string) (params, *Error) {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return params{}, invalidRequest("the parameters are malformed")
	}
	p := params{values: make(map[string]string, len(values))}
	for name, all := range values {
		for _, value := range all {
			if !p.set(name, value) {
				return params{}, repeated(name)
			}
		}
	}
	return p, nil
}

// parseObject reads parameters from a JSON object, which some clients send to the token
// endpoint. It reads token by token to detect duplicates.
func parseObject(body []byte) (params, *Error) {
	wrong := invalidRequest("the body is not a JSON object of strings")
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return params{}, wrong
	}
	p := params{values: map[string]string{}}
	for d.More() {
		name, err := d.Token()
		text, ok := name.(string)
		if err != nil || !ok {
			return params{}, wrong
		}
		var value any
		if d.Decode(&value) != nil {
			return params{}, wrong
		}
		for _, v := range list(value) {
			if v == nil {
				continue
			}
			one, ok := v.(string)
			if !ok {
				return params{}, wrong
			}
			if !p.set(text, one) {
				return params{}, repeated(text)
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return params{}, wrong
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return params{}, wrong
	}
	return p, nil
}

// list returns the items of an array, or a single value.
func list(value any) []any {
	if items, ok := value.([]any); ok {
		return items
	}
	return []any{value}
}

// readBody reads a body of at most maxBody.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *Error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	return nil, invalidRequest("the body could not be read")
}

// mediaType returns the type of a request's body without its parameters.
func mediaType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// wantsHTML reports whether a browser sent the request: programs do not accept text/html.
func wantsHTML(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header["Accept"], ",")), "text/html")
}
