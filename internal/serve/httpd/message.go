package httpd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
)

// Limits of a request without a valid token: a thousand of them must not fill the
// memory.
const (
	openBody  = 64 << 10 // bytes
	openBatch = 4        // messages; the response to each may be the list of tools
)

// maxHeldBack is the size of a request whose refusal may be held back.
const maxHeldBack = 4 << 10 // bytes

const sessionHeader = "Mcp-Session-Id"

// message answers POST /mcp and its aliases. The order of the checks is part of the
// contract: general checks come before the token, and nothing runs before the token is
// verified.
func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := s.begin(w, r)
	if session := r.Header.Get(sessionHeader); session != "" {
		w.Header().Set(sessionHeader, session)
	}
	data, refusal := s.receive(w, r)
	if refusal != nil {
		x.refuse(r.Context(), nil, refusal)
		return
	}
	s.answer(r.Context(), x, data, began)
}

// receive makes the general checks and reads the body.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) ([]byte, *httpRefusal) {
	if refusal := s.checkOrigin(r); refusal != nil {
		return nil, refusal
	}
	if !accepts(r.Header["Accept"], "application", "json") {
		return nil, refuse(http.StatusNotAcceptable, "not acceptable: the response is application/json, which the Accept header excludes")
	}
	if kind := r.Header.Get("Content-Type"); kind != "" && !jsonType(kind) {
		return nil, refuse(http.StatusUnsupportedMediaType, "unsupported media type: send application/json")
	}
	return s.readBody(w, r)
}

// answer parses the body, checks the token and replies.
func (s *Server) answer(ctx context.Context, x *exchange, data []byte, began time.Time) {
	body, failure := rpc.Read(data)
	caller, refusal := s.authorize(x.r)
	if refusal == nil && failure == nil && needsToken(body) && caller == nil {
		refusal = s.unauthorized(x.r, false)
	}
	switch {
	case refusal != nil:
		x.refuse(ctx, &body, refusal)
		return
	case failure != nil:
		x.refuse(ctx, nil, &httpRefusal{status: http.StatusBadRequest, err: failure})
		return
	}
	from := mcp.Origin{RequestID: x.id, Authorization: x.authorization, Header: mcp.Header(x.r.Header), Apps: mcp.IsAppsSession(x.r.Header.Get(sessionHeader))}
	if caller == nil {
		if refusal := s.relieve(s.budgets.beginOpen()); refusal != nil {
			x.refuse(ctx, &body, refusal)
			return
		}
		s.reply(ctx, x, body, from, began)
		return
	}
	from.Caller = *caller
	held, release, refusal := s.hold(ctx, x.r, *caller)
	if refusal == nil {
		defer release()
		switch {
		case len(body.Calls) == 1 && s.mcp.Urgent(body.Calls[0].Message):
			refusal = s.budgets.take(caller.Key)
		case counts(body):
			var end func()
			if end, refusal = s.count(*caller, len(data)); refusal == nil {
				defer end()
			}
		}
	}
	if refusal != nil {
		x.refuse(ctx, &body, refusal)
		return
	}
	s.reply(held, x, body, from, began)
}

// reply dispatches the body and sends the response.
func (s *Server) reply(ctx context.Context, x *exchange, body rpc.Body, from mcp.Origin, began time.Time) {
	job := s.mcp.Receive(ctx, from, body)
	if job.Modern() {
		x.w.Header().Del(sessionHeader) // the newer revision knows no sessions
	} else if mcp.Initializes(body) {
		// Several clients open the stream only if they were given a session id. This one is
		// never looked up: no state is kept between requests. It says whether the client
		// shows apps.
		id, apps := s.mcp.AppsSession(body, cmp.Or(x.w.Header().Get(sessionHeader), x.id))
		if apps || x.w.Header().Get(sessionHeader) == "" {
			x.w.Header().Set(sessionHeader, id)
		}
	}
	if job.Listens() {
		if sub := job.Subscribe(); sub != nil { //nolint:contextcheck // the job has ctx
			s.listen(ctx, x, &body, sub)
			return
		}
	}
	reply, events := s.run(x, job)
	s.budgets.hold(from.Caller.Key, len(reply))
	defer s.budgets.hold(from.Caller.Key, -len(reply))
	if events != nil {
		_ = events.send(reply) // empty after a cancellation; the client may have disconnected
		return
	}
	// A call may outlast WriteTimeout, which counts from the request's header.
	if time.Since(began) > time.Second {
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
	}
	if job.TokenEnded() && !body.Batch {
		refusal := s.unauthorized(x.r, true)
		if job.NeedsSentReport() {
			job.ReportSent(false)
		} else {
			refusal.reply = reply // states whether the call was executed
		}
		x.refuse(ctx, &body, refusal)
		return
	}
	setUnfinished(ctx, time.Now())
	err := x.write(statusOf(body, job.Refusal(), reply), reply)
	if job.NeedsSentReport() {
		// Without Flush a short response stays in the buffer until the handler returns.
		job.ReportSent(err == nil && http.NewResponseController(x.w).Flush() == nil)
	}
}

// count counts a request against the limits of its token and of its owner, or refuses it.
func (s *Server) count(caller principal.Caller, bytes int) (end func(), _ *httpRefusal) {
	if refusal := s.budgets.beginFor(caller.Subject); refusal != nil {
		if bytes > maxHeldBack {
			refusal.hold = 0
		}
		return nil, refusal
	}
	if refusal := s.relieve(s.budgets.begin(caller.Key)); refusal != nil {
		s.budgets.endFor(caller.Subject)
		return nil, refusal
	}
	s.budgets.hold(caller.Key, bytes)
	return func() {
		s.budgets.hold(caller.Key, -bytes)
		s.budgets.end(caller.Key)
		s.budgets.endFor(caller.Subject)
	}, nil
}

// counts reports whether a body counts against the token's concurrent requests, unless it calls an urgent tool. A
// ping does not, nor does a notification: a cancellation must always be accepted.
func counts(body rpc.Body) bool {
	one := body.Calls[0]
	return len(body.Calls) > 1 || one.Kind == rpc.Request && one.Method != "ping"
}

// relieve disconnects the slowest client if a request is refused because unread responses
// use up the memory budget.
func (s *Server) relieve(refusal *httpRefusal) *httpRefusal {
	if refusal != nil && refusal.status == http.StatusServiceUnavailable {
		s.connections.cutSlowest()
	}
	return refusal
}

// statusOf returns 202 for an empty response, 400 for a single invalid message, and 200
// otherwise, also for an error response. Only the newer revision has statuses for its
// refusals.
func statusOf(body rpc.Body, refusal *rpc.Error, reply []byte) int {
	switch {
	case len(reply) == 0:
		return http.StatusAccepted
	case refusal != nil && refusal.Code == rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case refusal != nil && refusal.Code == rpc.CodeRefused:
		return http.StatusTooManyRequests
	case refusal != nil:
		return http.StatusBadRequest
	case !body.Batch && body.Calls[0].Err != nil && body.Calls[0].Err.Code == rpc.CodeInvalidRequest:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// needsToken reports whether a body calls a method that needs a token, or has too many
// messages. An invalid message without a method needs none.
func needsToken(body rpc.Body) bool {
	if len(body.Calls) > openBatch {
		return true
	}
	for _, call := range body.Calls {
		if call.Err != nil && call.Method == "" {
			continue
		}
		if call.Kind != rpc.Request || !mcp.AllowsAnonymous(call.Method) {
			return true
		}
	}
	return false
}

// readBody reads at most MaxBody bytes, and more than openBody only with a valid token.
// The buffer grows with the data received, not with Content-Length.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *httpRefusal) {
	if r.ContentLength > s.cfg.MaxBody {
		return nil, s.tooLarge()
	}
	caller := (*principal.Caller)(nil)
	size := min(max(r.ContentLength, 0), 4<<10) + 1
	body, data := http.MaxBytesReader(w, r.Body, s.cfg.MaxBody), make([]byte, 0, size)
	for {
		if caller == nil && (r.ContentLength > openBody || len(data) > openBody) {
			var refusal *httpRefusal
			if caller, refusal = s.known(r); refusal == nil {
				refusal = s.relieve(s.budgets.enter(caller.Key))
			}
			if refusal != nil {
				return nil, refusal
			}
			// Until the body has arrived it counts with its maximum size.
			defer s.budgets.end(caller.Key)
			s.budgets.hold(caller.Key, int(s.cfg.MaxBody))
			defer s.budgets.hold(caller.Key, -int(s.cfg.MaxBody))
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			// ReadTimeout must not cancel a long call such as get_notifications.
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			return data, nil
		case err != nil:
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return nil, s.tooLarge()
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return nil, refuse(http.StatusRequestTimeout, "request timeout: the body did not arrive in time")
			}
			return nil, refuse(http.StatusBadRequest, "the body could not be read")
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

func (s *Server) tooLarge() *httpRefusal {
	return refuse(http.StatusRequestEntityTooLarge, "request too large: the body may have at most "+strconv.FormatInt(s.cfg.MaxBody, 10)+" bytes")
}

func jsonType(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// accepts reports whether an Accept header allows kind/sub. RFC 9110 12.5.1: the most
// specific matching range decides, q=0 excludes, and a missing header allows everything.
// An invalid range is ignored.
func accepts(headers []string, kind, sub string) bool {
	switch {
	case len(headers) == 0:
		return true
	case len(headers) == 1 && headers[0] == "application/json, text/event-stream":
		return true // the header of the SDKs
	}
	best, allowed, ranges := 0, false, 0
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			ranges++
			media, params, _ := strings.Cut(item, ";")
			rank := matchRange(strings.TrimSpace(media), kind, sub)
			weight, plain := quality(params)
			if plain && rank > 0 {
				rank++ // a bare range is as specific as one with ignored parameters
			}
			switch {
			case rank == 0 || rank < best:
			case rank == best:
				allowed = allowed || weight > 0
			default:
				best, allowed = rank, weight > 0
			}
		}
	}
	return ranges == 0 || allowed
}

// matchRange ranks how closely a media range names kind/sub; 0 is not at all.
func matchRange(media, kind, sub string) int {
	k, s, ok := strings.Cut(media, "/")
	switch {
	case !ok:
		return 0
	case k == "*" && s == "*":
		return 1
	case !strings.EqualFold(k, kind):
		return 0
	case s == "*":
		return 3
	case strings.EqualFold(s, sub):
		return 5
	}
	return 0
}

// quality returns the weight of a range, 1 if it is absent or invalid, and whether there
// are no other parameters.
func quality(params string) (weight float64, plain bool) {
	weight, plain = 1, true
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		switch {
		case name == "":
		case strings.EqualFold(strings.TrimSpace(name), "q"):
			if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
				weight = q
			}
		default:
			plain = false
		}
	}
	return weight, plain
}
