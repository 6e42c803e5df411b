package budget

import (
	"time"

	"candela/internal/kit/fair"
)

// Pause lets others have their turn, if the work has had its own for long, and says why the
// work must end now; nil while it may go on.
func (r *Run) Pause() error {
	if r == nil || r.ctx == nil {
		return nil
	}
	return fair.Pause(r.ctx)
}

// Spend says that the work took so much processor time.
func (r *Run) Spend(t time.Duration) {
	if r != nil {
		r.spent += t
	}
}

// Spent returns how much processor time the work has taken so far.
func (r *Run) Spent() time.Duration {
	if r == nil {
		return 0
	}
	return r.spent
}
