// Package longtest lets a test have two forms: a short one that runs before every
// merge and gives the same answer each time, and a long one with more rounds and
// other seeds that runs at night and before a release. `.ci/run long` sets the two
// environment variables that this package reads; nobody else needs to.
package longtest

import (
	"fmt"
	"os"
	"strconv"
)

const (
	onVariable   = "LONGTEST"      // "1" asks for the long form
	seedVariable = "LONGTEST_SEED" // where random tests begin
)

// On reports whether the long form is asked for.
func On() bool { return environment(onVariable) == "1" }

// Pick returns the first value, or the second one in the long form.
func Pick[T any](short, long T) T {
	if On() {
		return long
	}
	return short
}

// Seed is where a random test begins: 1, unless the environment says otherwise. A
// test that fails prints the seed that it used.
func Seed() uint64 {
	text := environment(seedVariable)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s is %q, want a whole number", seedVariable, text))
	}
	return seed
}

func environment(name string) string {
	//nolint:forbidigo // which form runs is the environment's to say, and no product code comes here
	return os.Getenv(name)
}
