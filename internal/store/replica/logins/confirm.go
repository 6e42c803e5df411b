package logins

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/lib/fault"
)

// confirm refuses a caller whose token is not in force at the servers, whatever this replica knows. A
// caller without a token passes.
func (t *Store) confirm(ctx context.Context, by principal.Caller) error {
	subject := t.table.Subject(tokenKind, by.Key)
	if _, _, token := t.parseSubject(subject); !token {
		return nil
	}
	m, ok, err := t.table.Latest(ctx, subject)
	if err != nil {
		return err
	}
	if !ok {
		// The answering server may lag behind.
		if ok, err = t.table.ConfirmAbsent(ctx, subject); err == nil && !ok {
			err = conn.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	if len(m.Data) == 0 {
		return errTokenEnded()
	}
	var tok oauth.Token
	if err := json.Unmarshal(m.Data, &tok); err != nil {
		return conn.Corrupted("read token", err)
	}
	if !time.Now().Before(tok.Expires) {
		return errTokenEnded()
	}
	return t.confirmGeneration(ctx, tok)
}

// confirmGeneration refuses a token of a generation that has ended.
func (t *Store) confirmGeneration(ctx context.Context, tok oauth.Token) error {
	e, _, ok, err := t.readGeneration(ctx)
	switch {
	case err != nil:
		return err
	case !ok || e.Number < t.knownNumber():
		return conn.ErrConflict // restarted servers, or a replay that is being replaced
	case tok.Generation != e.Key.Generation():
		return errTokenEnded()
	}
	return nil
}

func errTokenEnded() error {
	return fault.New(fault.Unauthorized, "invalid_token", "The login of this client has ended. Sign in again.")
}
