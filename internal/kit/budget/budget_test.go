package budget_test

import (
	"context"
	"errors"
	"testing"

	"candela/internal/kit/budget"
)

func TestPool_BoundsAllAndEachOwner(t *testing.T) {
	t.Parallel()
	p := budget.NewPool(100, 60)
	a, b := p.Run(t.Context(), "a"), p.Run(t.Context(), "b")
	if err := a.Hold(60); err != nil {
		t.Fatal(err)
	}
	if a.Hold(1) == nil || p.Run(t.Context(), "a").Hold(1) == nil {
		t.Error("an owner holds more than its part")
	}
	if err := b.Hold(40); err != nil {
		t.Fatal(err)
	}
	if b.Hold(1) == nil {
		t.Error("all hold more than there is")
	}
	if err := b.Hold(-40); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a.Close()
	if held := p.Held(); held != 0 {
		t.Errorf("%d bytes are still held", held)
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("the client has gone")
	ctx, end := context.WithCancelCause(t.Context())
	r := budget.NewPool(1, 1).Run(ctx, "a")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	end(gone)
	if err := r.Err(); !errors.Is(err, gone) {
		t.Errorf("the run ends for %v, want %v", err, gone)
	}
	var none *budget.Run
	if none.Err() != nil || none.Hold(1<<40) != nil {
		t.Error("no budget has a bound")
	}
	none.Close()
}
