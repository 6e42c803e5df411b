// Package brokertest is the conformance suite of broker.Broker: what every place
// to trade promises, checked through the contract alone, and a venue in memory
// for tests of what stands above it.
package brokertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Harness is how the suite comes by a venue.
type Harness struct {
	// Open returns a venue whose account has funds and neither orders nor trades.
	// It is called within a bubble of testing/synctest; what it starts ends by
	// tb.Cleanup.
	Open func(tb testing.TB) *Venue
	// Certain says that nothing lies between the broker and its venue, so that no
	// outcome is ever unknown.
	Certain bool
}

// Venue is a broker, the orders to send it, and the venue's own truth about it.
type Venue struct {
	Broker  broker.Broker
	Symbol  market.Symbol // trades now, as the broker spells it
	Foster  bool          // the symbols bear the venue of their prices, not the broker's name
	Unknown market.Symbol // does not exist
	// Quantity is valid for a market order, so is its half, and the account can
	// buy it thirty times over.
	Quantity decimal.Decimal
	// Rest returns a valid price at which a limit order of the side rests for hours.
	Rest func(order.Side) decimal.Decimal
	// Orders returns every order that the venue ever took, oldest first.
	Orders func() []order.Report
	// Trade lets the venue fill some of the resting order with our id.
	Trade func(id string, quantity decimal.Decimal)
	// Foreign places a resting order in Symbol that is not ours and returns the
	// venue's id of it.
	Foreign func() string
	// Force lets the venue close a part of what was bought in Symbol by itself, for one of
	// order.Causes; nil where venues do not.
	Force func(quantity decimal.Decimal, cause string)
	// Reach lets the price come to one that no other resting order has; nil where it cannot.
	Reach func(price decimal.Decimal)
	// Late lets the next Submit have no answer and arrive after so long; nil where venues drop nothing.
	Late func(by time.Duration)
	// Drop cuts the streams.
	Drop func()
	// Failures are the ways in which a request can fail.
	Failures []Failure
}

// Failure is a way in which a request fails.
type Failure struct {
	Name string
	// Arm makes the next Submit or Cancel fail, and returns what ends that. Reads
	// work, unless nothing can be reached at all.
	Arm  func() (disarm func())
	Want error // broker.ErrNotSent, ErrRejected or ErrUnknown
	Done bool  // the venue does what it was asked nevertheless
	Hang bool  // no answer comes
	// Orders says that it befalls orders alone: a cancel is done all the same.
	Orders bool
}

// Run checks a broker against the whole contract. The test that calls it must not
// be parallel: what others start would count as left behind.
func Run(t *testing.T, h Harness) {
	t.Helper()
	t.Setenv("CANDELA_BROKERTEST", "1") // panics in a parallel test
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { bubble(t, h, c.check) })
	}
	var failures []Failure
	synctest.Test(t, func(t *testing.T) { failures = h.Open(t).Failures })
	if err := enough(failures, h.Certain); err != nil {
		t.Error(err)
	}
	for i, f := range failures {
		for _, c := range failing() {
			t.Run(c.name+" with "+f.Name, func(t *testing.T) {
				bubble(t, h, func(ctx context.Context, v *Venue) error { return c.check(ctx, v, v.Failures[i]) })
			})
		}
	}
}

// bubble runs one check against a venue of its own, in virtual time.
func bubble(t *testing.T, h Harness, check func(context.Context, *Venue) error) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	synctest.Test(t, func(t *testing.T) {
		v := h.Open(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := check(ctx, v); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if left := running(v.Broker); left != "" {
			t.Errorf("a goroutine of the broker is left behind:\n%s", left)
		}
	})
	goleak.VerifyNone(t, before)
}

// running returns the stack of a goroutine of this bubble that is in the package
// of b, or "".
func running(b broker.Broker) string {
	kind := reflect.TypeOf(b)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		// The bubble's own goroutines are the one that looks and the one that waits.
		own := strings.Contains(head, "[running") || strings.Contains(head, "[synctest.Run")
		if !own && strings.Contains(head, "bubble") && strings.Contains(stack, "\n"+kind.PkgPath()+".") {
			return stack
		}
	}
	return ""
}

// enough holds that the failures cover every fate.
func enough(failures []Failure, certain bool) error {
	type fate struct {
		want string
		done bool
	}
	need := map[fate]bool{{broker.ErrNotSent.Error(), false}: true, {broker.ErrRejected.Error(), false}: true}
	if !certain {
		need[fate{broker.ErrUnknown.Error(), false}] = true
		need[fate{broker.ErrUnknown.Error(), true}] = true
	}
	hangs := certain
	for _, f := range failures {
		delete(need, fate{f.Want.Error(), f.Done})
		hangs = hangs || f.Hang
	}
	for f := range need {
		return fmt.Errorf("no failure ends %q with done %v", f.want, f.done)
	}
	if !hangs {
		return errors.New("no failure hangs")
	}
	return nil
}

// check is one promise. It returns an error rather than failing a test, so that
// the suite itself can be tested with brokers that break their promises.
type check struct {
	name  string
	check func(context.Context, *Venue) error
}

func checks() []check {
	return append([]check{
		{"it says what it is", identity},
		{"an instrument is returned", instrument},
		{"a market order is filled", marketOrder},
		{"a limit order rests until it is cancelled", limitOrder},
		{"a part is filled and the rest cancelled", partialFill},
		{"an order is found and cancelled by the venue's id alone", byVenueID},
		{"what is over cannot be cancelled, and no error says how it ended", cancelLate},
		{"an id that nobody sent is not found", notFound},
		{"orders of others are listed", foreign},
		{"an id that is taken is never refused", duplicate},
		{"more than the account has is refused", tooMuch},
		{"a symbol that does not exist is not traded", unknownSymbol},
		{"fills come after a cursor, oldest first", fills},
		{"what the venue closed by itself says why", forced},
		{"holdings follow the trades", holdings},
		{"a context that ended sends nothing", cancelled},
		{"many may ask at once", concurrent},
		{"reports flow from ready on", streamReports},
		{"a stream ends with its context", streamEnds},
		{"a stream whose context ended does not begin", streamCancelled},
		{"a stream says when it is lost", streamLost},
		{"a stream waits for its reader", streamWaits},
	}, slices.Concat(groupChecks(), swapChecks(), capabilityChecks())...)
}

// failingCheck is one promise about a request that fails.
type failingCheck struct {
	name  string
	check func(context.Context, *Venue, Failure) error
}

func failing() []failingCheck {
	return []failingCheck{
		{"a limit order", failedLimit},
		{"a market order", failedMarket},
		{"a group", failedGroup},
		{"a swap", failedSwap},
		{"a cancel", failedCancel},
		{"an order whose caller leaves", failedAbandoned},
	}
}
