// Package pattern has regular expressions that are compiled when they are first used: a
// program with many of them starts without the time and the memory that they take. It has
// no expressions of its own.
package pattern

import (
	"regexp"
	"sync"
)

// Of returns a function that returns the compiled expression. It is safe for concurrent use and
// panics at its first call if the expression is wrong, which a test over all of them excludes.
func Of(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
