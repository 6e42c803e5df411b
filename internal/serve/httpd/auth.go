package httpd

import (
	"context"
	"net/http"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/serve/rpc"
	"candela/lib/fault"
)

// maxToken is longer than any issued token.
const maxToken = 512

// authorize returns the caller of the request's bearer token, or nil without an
// Authorization header. An invalid token is refused even if none is needed: the client
// should learn that it is not logged in. A token outside the header is ignored.
func (s *Server) authorize(r *http.Request) (*principal.Caller, *httpRefusal) {
	caller, refusal := s.authenticate(r)
	if caller == nil {
		if busy := s.budgets.stranger(s.address(r)); busy != nil {
			refusal = busy
		}
	}
	return caller, refusal
}

func (s *Server) authenticate(r *http.Request) (*principal.Caller, *httpRefusal) {
	headers := r.Header["Authorization"]
	if len(headers) == 0 {
		return nil, nil
	}
	token, ok := bearer(headers)
	if !ok {
		return nil, s.unauthorized(r, true)
	}
	caller, err := s.auth.Authorize(r.Context(), token)
	if err != nil {
		return nil, s.refuseToken(r, err)
	}
	return &caller, nil
}

// hold returns a context that also ends with the caller's token.
func (s *Server) hold(ctx context.Context, r *http.Request, caller principal.Caller) (_ context.Context, release func(), _ *httpRefusal) {
	ctx, release, err := s.auth.Hold(ctx, caller)
	if err != nil {
		return nil, nil, s.refuseToken(r, err)
	}
	return ctx, release, nil
}

// refuseToken refuses a token that could not be verified.
func (s *Server) refuseToken(r *http.Request, err error) *httpRefusal {
	if fault.KindOf(err) == fault.Unauthorized {
		return s.unauthorized(r, true)
	}
	refusal := refuse(http.StatusServiceUnavailable, "the token could not be checked; retry")
	refusal.cause = err
	return refusal
}

// known returns the caller of a request that requires a token.
func (s *Server) known(r *http.Request) (*principal.Caller, *httpRefusal) {
	caller, refusal := s.authorize(r)
	if refusal == nil && caller == nil {
		refusal = s.unauthorized(r, false)
	}
	return caller, refusal
}

// bearer returns the token of exactly one "Bearer" header. RFC 6750 2.1; the scheme is
// case-insensitive, RFC 9110 11.1.
func bearer(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(headers[0], " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && strings.EqualFold(scheme, "bearer") && token != "" && len(token) <= maxToken && !strings.Contains(token, " ")
}

// unauthorized is the 401 that starts a client's OAuth flow. It names the metadata (RFC
// 9728 5.1), and an error only if a token was sent (RFC 6750 3.1).
func (s *Server) unauthorized(r *http.Request, presented bool) *httpRefusal {
	path := r.URL.Path
	if path == "/" {
		path = ""
	}
	refusal := &httpRefusal{
		status:    http.StatusUnauthorized,
		err:       &rpc.Error{Code: rpc.CodeUnauthorized, Message: "unauthorized: a bearer token is required"},
		challenge: `Bearer resource_metadata="` + s.cfg.BaseURL + `/.well-known/oauth-protected-resource` + path + `"`,
	}
	if presented {
		refusal.err.Message = "unauthorized: the bearer token is not valid"
		refusal.challenge = `Bearer error="invalid_token", ` + strings.TrimPrefix(refusal.challenge, "Bearer ")
	}
	return refusal
}
