package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/trading/policy"
	"candela/lib/fault"
)

// Client is an approved client.
type Client struct {
	ID       string          `json:"id"`
	Token    string          `json:"token"` // what stands for it in the audit log
	Owner    principal.Owner `json:"owner"`
	Name     string          `json:"name"`  // as the client calls itself
	Scope    string          `json:"scope"` // what it may do; none for a browser session
	Approved time.Time       `json:"approved"`
	Expires  time.Time       `json:"expires"`
	Survives bool            `json:"survives"` // a restart
}

// Clients returns the approved clients of an owner of the server, of all owners if it is "", newest first.
func Clients(ctx context.Context, home string, owner principal.Owner) ([]Client, error) {
	clients, err := call[[]Client](ctx, home, http.MethodGet, "/tokens?"+url.Values{"owner": {string(owner)}}.Encode())
	return clients, withoutClient(err)
}

// Revoke revokes a client.
func Revoke(ctx context.Context, home, id string) error {
	_, err := send(ctx, home, http.MethodDelete, "/tokens/"+url.PathEscape(id))
	return withoutClient(err)
}

// NewPass requests a one-time passphrase from the server.
func NewPass(ctx context.Context, home string) (string, error) {
	text, err := send(ctx, home, http.MethodPost, "/pass")
	return string(text), withoutClient(err)
}

// withoutClient says what errNotFound means for a command about clients.
func withoutClient(err error) error {
	if errors.Is(err, errNotFound) {
		return &fault.Error{Kind: fault.NotFound, Code: "no_such_client", Message: "no client is let in under that ID; candela auth list shows those that are"}
	}
	return err
}

// Ended is the result of RevokeAll and RevokeOwner.
type Ended struct {
	Clients  int    `json:"clients"`            // tokens that were live
	Browsers int    `json:"browsers,omitempty"` // logins of browsers; RevokeAll does not count them
	Where    string `json:"-"`                  // where the command was carried out
}

// RevokeOwner ends all logins of an owner of the server.
func RevokeOwner(ctx context.Context, home string, owner principal.Owner) (Ended, error) {
	ended, err := call[Ended](ctx, home, http.MethodDelete, "/tokens?"+url.Values{"owner": {string(owner)}}.Encode())
	return ended, withoutClient(err)
}

// RevokeAll ends all logins of the server.
func RevokeAll(ctx context.Context, home string) (Ended, error) {
	ended, err := call[Ended](ctx, home, http.MethodDelete, "/tokens")
	if errors.Is(err, errNotFound) {
		err = &fault.Error{Kind: fault.NotFound, Code: "no_logins", Message: fmt.Sprintf("the program that runs in state directory %s lets nobody in: it does not --serve", home)}
	}
	ended.Where = "by the server that runs there"
	return ended, err
}

// Answers reports whether a server with logins runs in a state directory.
func Answers(ctx context.Context, home string) bool {
	_, err := send(ctx, home, http.MethodGet, "/tokens?owner="+oauth.SoleOwner) // the fewest
	return err == nil
}

// Halt halts the program that trades in a state directory. It reports false when none can be
// reached.
func Halt(ctx context.Context, home, reason string) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/halt?"+url.Values{"reason": {reason}}.Encode())
}

// HaltAll is Halt that cancels the orders that protect positions too.
func HaltAll(ctx context.Context, home, reason string) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/halt?"+url.Values{"reason": {reason}, "all": {"true"}}.Encode())
}

// Resume resumes the program that trades in a state directory. It reports false when none can
// be reached.
func Resume(ctx context.Context, home string) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/resume")
}

// HaltOwner halts trading for one owner of the program in a state directory, as Halt or HaltAll.
func HaltOwner(ctx context.Context, home string, owner principal.Owner, reason string, all bool) (s TradingState, reached bool, err error) {
	values := url.Values{"owner": {string(owner)}, "reason": {reason}}
	if all {
		values.Set("all", "true")
	}
	return tradingCommand(ctx, home, "/halt?"+values.Encode())
}

// ResumeOwner resumes trading for one owner of the program in a state directory.
func ResumeOwner(ctx context.Context, home string, owner principal.Owner) (s TradingState, reached bool, err error) {
	return tradingCommand(ctx, home, "/resume?"+url.Values{"owner": {string(owner)}}.Encode())
}

func tradingCommand(ctx context.Context, home, path string) (s TradingState, reached bool, err error) {
	s, reached, err = callTrader[TradingState](ctx, home, http.MethodPost, path)
	s.Where = "in the program that runs there"
	return s, reached, err
}

// ReadStatus reads the status of the program that trades in a state directory. It reports
// false when none can be reached.
func ReadStatus(ctx context.Context, home string) (s Status, reached bool, err error) {
	return callTrader[Status](ctx, home, http.MethodGet, "/status")
}

// ApplyPolicy makes the program that trades in a state directory put the policy of its file in
// force. It reports false when none can be reached.
func ApplyPolicy(ctx context.Context, home string) (s policy.Status, reached bool, err error) {
	return callTrader[policy.Status](ctx, home, http.MethodPost, "/policy")
}

// callTrader is call for a command to the program that trades. It reports false when none can
// be reached.
func callTrader[T any](ctx context.Context, home, method, path string) (answer T, reached bool, err error) {
	answer, err = call[T](ctx, home, method, path)
	if errors.Is(err, errNotFound) || fault.KindOf(err) == fault.Unavailable {
		return answer, false, nil // no server, or one that does not trade
	}
	return answer, true, err
}

// call sends a command to the server of a state directory and decodes its answer.
func call[T any](ctx context.Context, home, method, path string) (answer T, err error) {
	body, err := send(ctx, home, method, path)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("control socket: %w", err)
	}
	return answer, nil
}

// errNotFound means that the server does not know a command, or what it names.
var errNotFound = errors.New("control socket: not found")

// maxAnswer bounds an answer, in bytes. A list of clients is the longest.
const maxAnswer = 64 << 20

// read returns the body of an answer, or the error that it reports.
func read(answer *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	var text string
	switch {
	case err != nil:
		return nil, fmt.Errorf("control socket: %w", err)
	case answer.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case answer.StatusCode == http.StatusConflict && json.Unmarshal(body, &text) == nil:
		return nil, &fault.Error{Kind: fault.Conflict, Code: "refused", Message: text}
	case answer.StatusCode >= http.StatusBadRequest:
		return nil, fmt.Errorf("control socket: the server answered %s; its log says why", answer.Status)
	}
	return body, nil
}

// send sends a command to the server of a state directory and returns its answer.
func send(ctx context.Context, home, method, path string) ([]byte, error) {
	limit := commandTime
	if method == http.MethodDelete {
		limit = endTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := ask(ctx, home, method, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	return read(answer)
}

// ask sends a request to the server of a state directory.
func ask(ctx context.Context, home, method, path string, body io.Reader) (*http.Response, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(home, socketName))
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return nil, fault.Field("id", path, "an ID that candela auth list shows")
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err == nil {
		return answer, nil
	}
	if asked, ok := errors.AsType[*url.Error](err); ok && !asked.Timeout() {
		err = asked.Err // the URL means nothing to the user
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = nil // it does not run; the system's message adds nothing
	}
	return nil, &fault.Error{
		Kind: fault.Unavailable, Code: "no_server", Field: "home", Value: home, Cause: err,
		Message: fmt.Sprintf("no server answers in state directory %s: is candela --serve running, with this --home? Start it with candela --serve", home),
	}
}

// stream sends a request with a body and passes on each line of the answer. It has no time as a whole, but each line has.
func stream(ctx context.Context, home, path string, body any, line func([]byte) error) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(lineTime, func() { stop(errNoLine) })
	defer late.Stop()
	answer, err := ask(ctx, home, http.MethodPost, path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		_, err := read(answer)
		return err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		late.Reset(lineTime)
		if err := line(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// lineTime is how long a line of an answer may take: that of a command that ends logins, and some more.
const lineTime = 2 * endTime

var errNoLine = errors.New("the server did not go on in time; what it has done so far holds")
