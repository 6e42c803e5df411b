package receipt

import (
	"fmt"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/kit/strictjson"
	"candela/internal/store/chain"
)

// noticeTTL is how long a checkpoint is offered to a receiver that does not accept it. The next ones cover it.
const noticeTTL = 24 * time.Hour

// Notice returns a checkpoint as a message that a receiver keeps: its text is the checkpoint in canonical form.
func Notice(s chain.Signed, now time.Time) (sink.Notice, error) {
	text, err := strictjson.CanonicalOf(s)
	return sink.Notice{
		ID: "checkpoint-" + s.Checkpoint.Hash.String()[:16], Title: fmt.Sprintf("Checkpoint of the audit log: %d events", s.Checkpoint.Events),
		Text: string(text), Until: now.Add(noticeTTL),
	}, err
}
