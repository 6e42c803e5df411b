package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"candela/internal/access/oauth"
	"candela/lib/fault"
)

// LoginsOutdated reports whether the audit log of a state directory says that stored tokens were
// revoked, or that their scope was changed, since they were written.
func LoginsOutdated(ctx context.Context, dir string, stored []oauth.Token) (outdated bool, err error) {
	log, err := OpenAudit(ctx, dir)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil // there is none without --trade
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	oldest := slices.MinFunc(stored, func(a, b oauth.Token) int { return a.Issued.Compare(b.Issued) }).Issued
	changes, err := log.LoginChanges(ctx, oldest)
	if err != nil {
		return false, err
	}
	byID := make(map[string]oauth.Token, len(stored))
	for _, t := range stored {
		byID[t.ID] = t
	}
	seen := make(map[string]bool) // newer changes of the scope
	for _, e := range changes {
		t, known := byID[e.Subject]
		switch {
		case e.Kind == "logins_ended" && oldest.Before(e.At), known && e.Kind == "token_revoked":
			return true, nil
		case known && e.Kind == "scope_changed" && !seen[e.Subject]:
			var body struct{ Scope string }
			if json.Unmarshal(e.Body, &body) == nil && body.Scope != "" && body.Scope != t.Grant.Scope {
				return true, nil
			}
			seen[e.Subject] = true
		}
	}
	return false, nil
}
