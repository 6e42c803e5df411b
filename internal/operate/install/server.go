package install

import (
	"strings"

	"candela/internal/kit/fault"
)

const nameAllowed = "letters, digits, - and _, at most 64"

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// CheckName refuses a name that some client would not take for a server.
func CheckName(name string) error {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }) {
		return fault.Field("--name", name, nameAllowed)
	}
	return nil
}
