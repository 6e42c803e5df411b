// Package providertest is the conformance suite of provider.Provider: what every
// source of bars promises, checked through the contract alone.
package providertest

import (
	"context"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Target says what the suite asks a provider.
type Target struct {
	// New returns the provider. When it is an io.Closer the suite closes it.
	New func(tb testing.TB) provider.Provider
	// Symbol has at least 20 bars of Interval between From and To, and the same
	// ones whenever they are asked for.
	Symbol   market.Symbol
	Interval market.Interval
	From, To int64
	// Unknown is a well-formed symbol that the provider does not have.
	Unknown market.Symbol
}

// Run checks the provider against the whole contract. The test that calls it
// must not be parallel: what others start would count as left behind.
func Run(t *testing.T, target Target) {
	t.Helper()
	t.Setenv("CANDELA_PROVIDERTEST", "1") // panics in a parallel test
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			p := target.New(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.check(ctx, p, target); err != nil {
				t.Error(err)
			}
			if closer, ok := p.(io.Closer); ok {
				if err := closer.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
			if err := left(before); err != nil {
				t.Error(err)
			}
		})
	}
}

// patience ends a check that hangs. On a busy machine a check may take a while.
const patience = 5 * time.Minute

// left returns what still runs of what was started since, an error, or nil. What was
// closed may take a moment to end.
func left(before goleak.Option) error {
	for began := time.Now(); ; {
		if err := goleak.Find(before); err == nil || time.Since(began) > patience/5 {
			return err
		}
	}
}

// check is one promise. It returns an error rather than failing a test, so that
// the suite itself can be tested with providers that break their promises.
type check struct {
	name  string
	check func(context.Context, provider.Provider, Target) error
}

func checks() []check {
	return []check{
		{"capabilities are whole", capabilities},
		{"bars ascend and are sound", soundBars},
		{"only the last bar runs", onlyTheLastRuns},
		{"limits are kept", limits},
		{"bounds are kept", bounds},
		{"pages forward equal one read", pagesForward},
		{"pages backward equal one read", pagesBackward},
		{"the newest bars come without bounds", newest},
		{"an empty range is empty", emptyRange},
		{"wrong queries are refused", wrongQueries},
		{"an unknown symbol is not found", unknownSymbol},
		{"an interval it lacks is refused with the list", unsupportedInterval},
		{"an instrument is returned", instrument},
		{"a context that ended ends the call", cancelled},
		{"many may ask at once", concurrent},
	}
}
