package cluster_test

import (
	"testing"
	"time"
)

// TestAlone_TheServerBeginsAnew restarts a server that has no others: it knows nothing
// of what it held in memory, and who was there before makes it again.
func TestAlone_TheServerBeginsAnew(t *testing.T) {
	t.Parallel()
	one, prefix, now := start(t, 1), newPrefix(), time.Now()
	a, _ := join(t, one, prefix, "a")
	b, _ := join(t, one, prefix, "b")
	agree(t, a, b)
	s := openTokens(t, one, prefix)
	other := openTokens(t, one, prefix)
	tok, key := issue(t, s, "first", now), s.Seal()

	one.Kill(0)
	restart(t, one, 0)
	beat := time.Now()
	eventually(t, "heartbeats are taken again", func() bool { return a.Beat().After(beat) && b.Beat().After(beat) })
	agree(t, a, b)
	gone(t, s, tok, now)
	gone(t, other, tok, now)
	eventually(t, "both seal with the same new key", func() bool { return s.Seal() != key && s.Seal() == other.Seal() })

	second := issue(t, s, "second", now)
	eventually(t, "a token of one is good at the other", func() bool {
		_, err := other.Token(t.Context(), second.Hash, now)
		return err == nil
	})
}
