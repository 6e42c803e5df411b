package cimd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
)

// Document is the metadata of a client.
type Document struct {
	ID        string // the URL of the document
	Name      string // claimed by the document
	Redirects []string
	Digest    string // of the document's bytes
}

// Host returns the host that serves the document.
func (d Document) Host() string { return HostOf(d.ID) }

// HostOf returns the host of a document's URL.
func HostOf(id string) string {
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	return u.Host
}

// IsID reports whether a client id is a URL. Check reports whether it is a valid one.
func IsID(id string) bool {
	return strings.HasPrefix(id, "https://") || strings.HasPrefix(id, "http://")
}

const maxID = 512 // bytes

// Check reports why a URL cannot be a client id.
func Check(id string) error {
	if len(id) > maxID {
		return fmt.Errorf("client_id is longer than %d bytes", maxID)
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`\"<>`, c) >= 0 {
			return errors.New("client_id has characters that a URL must encode")
		}
	}
	u, err := url.Parse(id)
	switch {
	case err != nil:
		return errors.New("client_id is not a URL")
	case u.Scheme != "https":
		return errors.New("client_id must be an https URL")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("client_id has no host")
	case u.User != nil:
		return errors.New("client_id must not contain a user name")
	case strings.ContainsAny(id, "?#"):
		return errors.New("client_id must not have a query or a fragment")
	case u.Path == "" || u.Path == "/":
		return errors.New("client_id must have a path")
	case hasDots(u.EscapedPath()):
		return errors.New("client_id must not have . or .. as a segment of its path")
	}
	return nil
}

// hasDots reports whether a path has a segment that means this or the parent folder.
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "." || plain == ".." || strings.ContainsAny(plain, `/\`) {
			return true
		}
	}
	return false
}

// parse reads the document of an id. Members that candela does not use are ignored, except
// for secrets: a document is public.
func parse(id string, data []byte) (Document, error) {
	d := Document{ID: id}
	if err := strictjson.Check(data); err != nil {
		return d, fmt.Errorf("the document is not strict JSON: %w", err)
	}
	object := bytes.TrimSpace(data)
	if object[0] != '{' {
		return d, errors.New("the document is not a JSON object")
	}
	members := map[string]json.RawMessage{}
	for key, value := range strictjson.Fields(object) {
		if strings.HasPrefix(key, "client_secret") {
			return d, fmt.Errorf("the document has a %s, which must not be public", key)
		}
		members[key] = value
	}
	if got, ok := strictjson.Text(members["client_id"]); !ok || got != id {
		return d, errors.New("client_id of the document is not its URL")
	}
	var ok bool
	if d.Name, ok = strictjson.Text(members["client_name"]); !ok || strings.TrimSpace(d.Name) == "" {
		return d, errors.New("the document has no client_name")
	}
	if d.Redirects, ok = texts(members["redirect_uris"]); !ok || len(d.Redirects) == 0 {
		return d, errors.New("redirect_uris of the document must be a list of URLs")
	}
	if method := members["token_endpoint_auth_method"]; method != nil {
		if text, _ := strictjson.Text(method); text != "none" {
			return d, errors.New("token_endpoint_auth_method of the document must be none")
		}
	}
	for _, list := range []struct{ name, want string }{{"grant_types", "authorization_code"}, {"response_types", "code"}} {
		value, given := members[list.name]
		if all, ok := texts(value); given && (!ok || !slices.Contains(all, list.want)) {
			return d, fmt.Errorf("%s of the document must contain %s", list.name, list.want)
		}
	}
	d.Digest = fmt.Sprintf("%x", sha256.Sum256(data))
	return d, nil
}

// texts returns a JSON array of strings.
func texts(value json.RawMessage) (all []string, ok bool) {
	if len(value) == 0 || value[0] != '[' {
		return nil, false
	}
	for item := range strictjson.Items(value) {
		text, ok := strictjson.Text(item)
		if !ok {
			return nil, false
		}
		all = append(all, text)
	}
	return all, true
}
