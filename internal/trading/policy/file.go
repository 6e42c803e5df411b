// Package policy has the order policy in force: it reads its file, says how the two differ, and puts the file in
// force at the desks of the process. Package guard says what a policy means.
package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"candela/internal/config"
	"candela/internal/trading/guard"
	"candela/lib/market"
)

// File is a policy as it was read.
type File struct {
	guard.Policy
	Path  string
	Found bool   // else these are the defaults
	Sum   string // as Sum returns it
	At    time.Time
}

// Source says where the policy is read.
type Source struct {
	Path string
	// Usual is where the file may be missing; one that was configured must exist.
	Usual string
	Live  bool // a policy for trading with real money must list the allowed symbols
	// Conditions reads the owner's conditions.
	Conditions guard.ReadCondition
}

// Read reads the file. Every error of its contents is an *Error.
func (s Source) Read() (File, error) {
	f := File{Path: s.Path, At: time.Now()}
	var err error
	f.Policy, f.Found, err = Read(f.Path, s.Conditions)
	if err == nil && !f.Found && f.Path != s.Usual {
		err = &Error{f.Path, fs.ErrNotExist}
	}
	if err == nil && s.Live {
		if lock := f.Live(); lock != nil {
			err = &Error{f.Path, lock}
		}
	}
	if err == nil {
		f.Sum, err = Sum(f.Policy)
	}
	return f, err
}

// InFile returns how the file is, where no program runs.
func (s Source) InFile() Status {
	now := Status{Path: s.Path}
	if _, err := s.Read(); err != nil {
		now.Problem = err.Error()
	}
	return now
}

// Error is an unusable policy, with its file.
type Error struct {
	Path  string
	Cause error // a *guard.Error, or why the file cannot be read
}

// Error returns the file name and the cause.
func (e *Error) Error() string { return e.Path + ": " + e.Cause.Error() }

// Problems returns all problems, each with the file's name.
func (e *Error) Problems() []error {
	bad, ok := errors.AsType[*guard.Error](e.Cause)
	if !ok {
		return []error{e}
	}
	problems := make([]error, 0, len(bad.Problems))
	for _, p := range bad.Problems {
		problems = append(problems, fmt.Errorf("%s: %w", e.Path, p))
	}
	return problems
}

// Read returns the policy in a file, or the defaults and false if there is no file.
// Every error is a *Error.
func Read(path string, conditions guard.ReadCondition) (policy guard.Policy, found bool, err error) {
	data, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(path); there == nil {
			return guard.Policy{}, true, &Error{path, errors.New("broken link: restore the file it points to, or remove the link to use the default policy")}
		}
		return guard.Default(), false, nil
	}
	if err == nil {
		policy, err = guard.Parse(data, conditions)
	}
	if err != nil {
		return guard.Policy{}, true, &Error{path, err}
	}
	return policy, true, nil
}

// Sum returns a digest by which replicas compare their policies: of what differs from the
// defaults, so that a rule that a version adds does not change it. The order of a file's entries and
// trailing zeros do not change it either.
func Sum(p guard.Policy) (string, error) {
	p.AllowedSymbols = slices.SortedFunc(slices.Values(p.AllowedSymbols), func(a, b market.Symbol) int { return strings.Compare(a.String(), b.String()) })
	p.Currencies = slices.Sorted(slices.Values(p.Currencies))
	if len(p.Symbols) == 0 {
		p.Symbols = nil // the same as without a file
	}
	own, err := fieldsOf(p) // with the symbols sorted
	if err != nil {
		return "", err
	}
	usual, err := fieldsOf(guard.Default())
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(own, func(name string, value json.RawMessage) bool { return bytes.Equal(value, usual[name]) })
	data, err := json.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// fieldsOf returns the encoded fields of a policy by name.
func fieldsOf(p guard.Policy) (fields map[string]json.RawMessage, err error) {
	data, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return fields, nil
}
