package ledger

import "context"

// Version is the schema that this build writes.
const Version = version

// Hold takes the turn to write and returns how to give it back.
func (l *Ledger) Hold() func() {
	l.turn <- struct{}{}
	return func() { <-l.turn }
}

// Waiting returns how many writes wait for a turn.
func (l *Ledger) Waiting() int {
	l.queue.Lock()
	defer l.queue.Unlock()
	return len(l.pending)
}

// Pragma sets something of the connection that writes.
func (l *Ledger) Pragma(ctx context.Context, pragma string) error {
	defer l.Hold()()
	_, err := l.conn.ExecContext(ctx, "PRAGMA "+pragma)
	return err
}

// Setting returns a setting of the connection that writes.
func (l *Ledger) Setting(ctx context.Context, pragma string) (string, error) {
	defer l.Hold()()
	var value string
	err := l.conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&value)
	return value, err
}

// SetRoom says whether the disk has room.
func (l *Ledger) SetRoom(room bool) {
	defer l.Hold()()
	l.tally.room = func() bool { return room }
}

// Classify returns the code and the message of SQLite's result code.
func Classify(result int, err error) (code, message string) { return classify(result, err) }
