package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"candela/internal/config"
	"candela/internal/trading/guard"
)

// PolicyError is a policy that cannot be used, with the file it stands in.
type PolicyError struct {
	Path  string
	Cause error // a *guard.Error, or why the file cannot be read
}

// Error names the file before what is wrong with it.
func (e *PolicyError) Error() string { return e.Path + ": " + e.Cause.Error() }

// Problems returns everything that is wrong, each with the file's name.
func (e *PolicyError) Problems() []error {
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

// ReadPolicy returns the policy in a file, and whether there is one: without a
// file the defaults are in force. Every error is a *PolicyError.
func ReadPolicy(path string) (policy guard.Policy, found bool, err error) {
	data, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(path); there == nil {
			return guard.Policy{}, true, &PolicyError{path, errors.New("it is a link to a file that is not there: restore that file, or remove the link to trade by the defaults")}
		}
		return guard.Default(), false, nil
	}
	if err == nil {
		policy, err = guard.Parse(data)
	}
	if err != nil {
		return guard.Policy{}, true, &PolicyError{path, err}
	}
	return policy, true, nil
}
