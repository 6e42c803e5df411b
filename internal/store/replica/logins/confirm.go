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
	var m conn.Message
	var ok, begun bool
	var now loginGeneration
	err := conn.Together(
		func() (err error) { m, ok, err = t.table.Latest(ctx, subject); return err },
		func() (err error) { now, _, begun, err = t.readGeneration(ctx); return err },
	)
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
	switch {
	case !begun || now.Number < t.knownNumber():
		return conn.ErrConflict // restarted servers, or a replay that is being replaced
	case tok.Generation != now.Key.Generation():
		return errTokenEnded()
	}
	return nil
}

func errTokenEnded() error {
	return fault.New(fault.Unauthorized, "invalid_token", "The login of this client has ended. Sign in again.")
}
