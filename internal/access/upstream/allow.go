package upstream

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"candela/internal/kit/principal"
)

// idLetters is the length of an owner's id: 130 bits of a hash.
const idLetters = 26

// OwnerID returns the id of the owner who is a subject of an issuer. It says nothing about
// the person, has one alphabet and no separators, and a provider cannot choose it.
func OwnerID(issuer, subject string) principal.Owner {
	sum := sha256.Sum256([]byte(issuer + "\x00" + subject))
	return principal.Owner(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:idLetters])
}

// Allow is a list of rules about who may sign in.
type Allow []rule

// rule lets in those whom it fits.
type rule struct {
	text string
	fits func(Identity) bool
}

// ParseAllow reads rules: group:G, domain:D, claim:K=V, sub:S or anyone. An empty list lets
// nobody in, so it is an error.
func ParseAllow(texts []string) (Allow, error) {
	if len(texts) == 0 {
		return nil, errors.New("no rule says who may sign in")
	}
	list := make(Allow, 0, len(texts))
	for _, text := range texts {
		fits, ok := parseRule(text)
		if !ok {
			return nil, fmt.Errorf("unknown rule %q: use group:G, domain:D, claim:K=V, sub:S or anyone", text)
		}
		list = append(list, rule{text, fits})
	}
	return list, nil
}

func parseRule(text string) (func(Identity) bool, bool) {
	if text == "anyone" {
		return func(Identity) bool { return true }, true
	}
	kind, value, _ := strings.Cut(text, ":")
	if value == "" {
		return nil, false
	}
	switch kind {
	case "group":
		return func(i Identity) bool { return i.has("groups", value) }, true
	case "domain":
		return func(i Identity) bool { return i.Verified && strings.EqualFold(domainOf(i.Email), value) }, true
	case "sub":
		return func(i Identity) bool { return i.Subject == value }, true
	case "claim":
		name, want, ok := strings.Cut(value, "=")
		return func(i Identity) bool { return i.has(name, want) }, ok && name != "" && want != ""
	}
	return nil, false
}

// domainOf returns what follows the @ of an address, or "" if it has not exactly one: two
// programs may not agree which of two @ begins the domain.
func domainOf(email string) string {
	name, domain, _ := strings.Cut(email, "@")
	if name == "" || strings.Contains(domain, "@") {
		return ""
	}
	return domain
}

// Fits returns the first rule that lets somebody in, or false if none does.
func (a Allow) Fits(who Identity) (rule string, ok bool) {
	for _, r := range a {
		if r.fits(who) {
			return r.text, true
		}
	}
	return "", false
}

// NeedsGroups reports whether a rule reads the claim groups.
func (a Allow) NeedsGroups() bool {
	for _, r := range a {
		if strings.HasPrefix(r.text, "group:") {
			return true
		}
	}
	return false
}
