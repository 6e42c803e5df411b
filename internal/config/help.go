package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteHelp writes every setting with its flag, variable and default.
func WriteHelp(w io.Writer, p Parts) error {
	group := ""
	for _, s := range Settings(p) {
		if s.Group != group {
			group = s.Group
			if _, err := fmt.Fprintf(w, "\n%s:\n", group); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "  %s\n        %s (%s)\n", s.usage(), s.Doc, s.facts()); err != nil {
			return err
		}
	}
	return nil
}

func (s Setting) usage() string {
	if s.Sources&FromFlag == 0 {
		return s.Env() + "=" + s.Arg
	}
	if s.isBool() {
		return s.Flag()
	}
	return s.Flag() + " " + s.Arg
}

func (s Setting) facts() string {
	var facts []string
	if s.Sources&FromFlag == 0 {
		facts = append(facts, "environment only")
	} else {
		facts = append(facts, s.Env())
	}
	if s.Default != "" && !s.isBool() {
		facts = append(facts, "default "+s.Default)
	}
	return strings.Join(facts, ", ")
}
