package research

import (
	"context"
	"fmt"
	"time"
)

// Progress shows how far a long call is.
type Progress = func(done, total int, message string)

type progressKey struct{}

// WithProgress returns a context whose calls show how far they are, one goroutine at a time.
func WithProgress(ctx context.Context, send Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, send)
}

// progress shows a client how far a long call is. One goroutine at a time uses it.
type progress struct {
	send  func(done, total int, message string) // nil if the client does not ask for it
	total int
	began time.Time
	last  time.Time
}

// progressEvery is the least time between two notifications.
const progressEvery = 500 * time.Millisecond

func startProgress(ctx context.Context, total int) *progress {
	send, _ := ctx.Value(progressKey{}).(Progress)
	return &progress{send: send, total: total, began: time.Now()}
}

// step says how much is done, and how much could not be, if the last time was a while ago.
func (p *progress) step(done, failed int) {
	now := time.Now()
	if p.send == nil || now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	ended := done + failed
	message := fmt.Sprintf("%d of %d", ended, p.total)
	if failed > 0 {
		message += fmt.Sprintf(", %d failed", failed)
	}
	if took := now.Sub(p.began); ended > 0 && took > time.Second {
		left := time.Duration(float64(took) / float64(ended) * float64(p.total-ended))
		message += fmt.Sprintf(", about %d s left", int(left.Round(time.Second).Seconds()))
	}
	p.send(ended, p.total, message)
}
