package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const bufferFix = "turn buffering off for /mcp in the proxy: proxy_buffering off in nginx, flush_interval -1 in Caddy, no caching and no compression elsewhere"

// Stream listens through the public address as clients do: the first bytes must come
// at once, and a heartbeat in its time. Where they do not, it listens past the
// proxy, to find which of the two delays them.
func (s *Server) Stream(ctx context.Context, token string) Finding {
	const check = "events"
	first, beat, err := s.listen(ctx, s.BaseURL, token, true)
	switch {
	case err == nil:
		return NewOK(check, "the first bytes came through %s after %v, a heartbeat after %v", s.BaseURL, round(first), beat.Round(time.Second))
	case first == 0 && s.BaseURL != s.Direct:
		if direct, _, failed := s.listen(ctx, s.Direct, token, false); failed == nil {
			return newProblem(check, bufferFix, "no event came through %s in %v, and past the proxy the first came after %v: the proxy holds them back", s.BaseURL, s.FirstByte, round(direct))
		}
		return newProblem(check, "look at the server's log; "+bufferFix, "no event came through %s: %s", s.BaseURL, err)
	case first == 0:
		return newProblem(check, "look at the server's log", "no event came from %s: %s", s.BaseURL, err)
	}
	return newProblem(check, "let the proxy keep quiet connections for a minute or more: proxy_read_timeout 1h in nginx; and "+bufferFix,
		"the first bytes came through %s after %v, and then no heartbeat: %s", s.BaseURL, round(first), err)
}

func round(d time.Duration) time.Duration { return max(d.Round(time.Millisecond), time.Millisecond) }

// listen opens the stream and returns how long the first bytes and the next ones
// took; 0 for those that did not come.
func (s *Server) listen(ctx context.Context, base, token string, toHeartbeat bool) (first, beat time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(s.FirstByte, func() { cancel(errTooLate) })
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/mcp", nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	began := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, 0, reason(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // a stream that is left
	if resp.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	room := make([]byte, 4<<10)
	if n, err := resp.Body.Read(room); n == 0 {
		return 0, 0, reason(ctx, err)
	}
	first = time.Since(began)
	if !toHeartbeat {
		return first, 0, nil
	}
	late.Reset(s.Heartbeat)
	if n, err := resp.Body.Read(room); n == 0 {
		return first, 0, fmt.Errorf("%w after %v", reason(ctx, err), time.Since(began).Round(time.Second))
	}
	return first, time.Since(began), nil
}

var (
	errTooLate = errors.New("nothing came in time") // the end of our patience
	errClosed  = errors.New("the connection was closed")
)

func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errTooLate) {
		return cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errClosed
	}
	return err
}
