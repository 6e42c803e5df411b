package doctor

import (
	"context"
	"time"

	"candela/internal/alerting/sink"
)

// sinkTimeout bounds the wait for a receiver of alerts.
const sinkTimeout = 15 * time.Second

// sinks checks each configured receiver of alerts without sending it a message.
func (x *examination) sinks(ctx context.Context) {
	if !x.cfg.Trade {
		return
	}
	env := sink.Env{Values: x.cfg.Values, AllowPrivate: x.cfg.Sinks.AllowPrivate, Now: time.Now}
	for _, d := range x.Sinks {
		check := "alerts to " + d.Name
		open, err := sink.Open([]sink.Descriptor{d}, env)
		if err != nil {
			x.Report(newProblem(check, "correct the setting that is named; docs/alerts.md shows the setup", "%s", public(err)))
			continue
		}
		for _, to := range open {
			x.wait("asking " + to.Host())
			x.Report(receiver(ctx, check, to))
			to.Close()
		}
	}
}

func receiver(ctx context.Context, check string, to sink.Target) Finding {
	ctx, cancel := context.WithTimeout(ctx, sinkTimeout)
	defer cancel()
	switch a := to.Check(ctx); a.Outcome {
	case sink.Delivered:
		return NewOK(check, "%s: %s", to.Host(), a.Text)
	case sink.Refused:
		return newProblem(check, "correct the settings of this receiver; docs/alerts.md shows the setup", "%s refused: %s", to.Host(), a.Text)
	case sink.Unreachable, sink.Failed:
		return newProblem(check, "let this machine reach the receiver, or correct its address; alerts wait for 24 hours", "%s: %s", to.Host(), a.Text)
	}
	return Finding{}
}
