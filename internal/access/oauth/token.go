package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"candela/internal/access/cimd"
	"candela/internal/kit/principal"
)

// ServeToken answers POST /token: it exchanges a code and its verifier for a token. RFC
// 6749 4.1.3, RFC 7636 4.5. The order of the checks is part of the contract: an
// unauthenticated client learns nothing about the code and cannot invalidate it.
func (s *Server) ServeToken(w http.ResponseWriter, r *http.Request) {
	t, secret, e := s.exchange(w, r)
	if e != nil {
		if e.Status == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="token"`) // RFC 6749 5.2
		}
		s.writeError(w, r, e)
		return
	}
	if err := s.audit.note(r.Context(), Event{
		Kind: "token_issued", Subject: t.Grant.Subject, About: t.ID, Client: t.Grant.ClientName, Key: t.Key, Address: s.cfg.Address(r).String(), Target: t.Grant.Target,
		Scope: t.Grant.Access().String(), TTL: t.Grant.lifetime(),
	}); err != nil {
		_ = s.store.Revoke(context.WithoutCancel(r.Context()), t.Grant.Subject, t.ID) // nobody has its secret
		s.writeError(w, r, serverError())
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] token issued", slog.Bool("pkce_verified", true),
		slog.String("token_id", t.ID), slog.String("client_name", t.Grant.ClientName),
		slog.String("subject", string(t.Grant.Subject)), slog.String("scope", t.Grant.Access().String()), slog.Time("expires", t.Expires))
	scope := "" // RFC 6749 5.1: a client must learn of a scope that is narrower than it asked for
	if access := t.Grant.Access(); access < principal.Trade {
		scope = access.String()
	}
	writeJSON(w, http.StatusOK, struct {
		Token   string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int    `json:"expires_in"`
		Scope   string `json:"scope,omitempty"`
	}{secret, "Bearer", int(t.Grant.lifetime().Seconds()), scope})
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) (t Token, secret string, e *Error) {
	s = s.pinned()
	p, e := readTokenParams(w, r)
	if e != nil {
		return t, "", e
	}
	c, e := s.authenticateClient(r, p)
	if e != nil {
		return t, "", e
	}
	switch p.get("grant_type") {
	case "authorization_code":
	case "":
		return t, "", invalidRequest("grant_type is missing")
	default:
		return t, "", refuse(http.StatusBadRequest, "unsupported_grant_type", "grant_type must be authorization_code")
	}
	switch {
	case p.get("code") == "":
		return t, "", invalidRequest("code is missing")
	case p.get("code_verifier") == "":
		return t, "", invalidRequest("code_verifier is missing")
	}
	if e := s.checkResources(p); e != nil {
		return t, "", e
	}
	return s.redeem(r, c, p)
}

func readTokenParams(w http.ResponseWriter, r *http.Request) (params, *Error) {
	body, e := readBody(w, r)
	if e != nil {
		return params{}, e
	}
	switch kind := mediaType(r); {
	case isJSON(kind):
		return parseObject(body)
	case kind == "application/x-www-form-urlencoded", r.Header.Get("Content-Type") == "":
		return parseForm(string(body))
	}
	return params{}, invalidRequest("send application/x-www-form-urlencoded")
}

// authenticateClient identifies the client. PKCE alone protects a client without a
// secret; a secret that is sent must be correct.
func (s *Server) authenticateClient(r *http.Request, p params) (client, *Error) {
	id, secret := p.get("client_id"), p.get("client_secret")
	if headerID, headerSecret, ok := basicAuth(r); ok {
		switch {
		case secret != "":
			return client{}, invalidRequest("the client secret is both in the header and in the body")
		case id != "" && id != headerID:
			return client{}, invalidRequest("client_id differs from the Authorization header")
		}
		id, secret = headerID, headerSecret
	}
	if id == "" {
		return client{}, invalidRequest("client_id is missing")
	}
	if cimd.IsID(id) && s.cfg.Documents != nil {
		if secret != "" {
			return client{}, invalidClient(http.StatusUnauthorized, "client_secret is wrong: this client has none")
		}
		return client{id: id, Method: methodNone}, nil // the code names the client; its document was read before
	}
	c, ok := s.findClient(id)
	switch {
	case !ok && s.renewed(r, id, p.get("code")):
		return client{id: id, Method: methodNone}, nil // its secret was of an earlier run
	case !ok:
		return client{}, invalidClient(http.StatusUnauthorized, unknownClient)
	case secret == "" && c.Method == methodPost:
		return client{}, invalidClient(http.StatusUnauthorized, "client_secret is missing")
	case secret != "" && !s.rightSecret(c, secret):
		return client{}, invalidClient(http.StatusUnauthorized, "client_secret is wrong")
	}
	return c, nil
}

// renewed reports whether the owner has approved a client of an earlier run: then a code
// names it. A code that was used before is left to redeem, which revokes its token.
func (s *Server) renewed(r *http.Request, id, code string) bool {
	if code == "" {
		return false
	}
	c, err := s.store.Code(r.Context(), HashOf(code), time.Now())
	return err == nil && c.Client == fingerprint(id) || errors.Is(err, ErrReplayed)
}

// basicAuth reads HTTP Basic credentials, which are form-encoded. RFC 6749 2.3.1.
func basicAuth(r *http.Request) (id, secret string, ok bool) {
	id, secret, ok = r.BasicAuth()
	if !ok {
		return "", "", false
	}
	plainID, errID := url.QueryUnescape(id)
	plainSecret, errSecret := url.QueryUnescape(secret)
	if errID != nil || errSecret != nil {
		return id, secret, true
	}
	return plainID, plainSecret, true
}

// redeem exchanges the code for a token.
func (s *Server) redeem(r *http.Request, c client, p params) (Token, string, *Error) {
	ctx, now, hash := r.Context(), time.Now(), HashOf(p.get("code"))
	code, err := s.store.Code(ctx, hash, now)
	if err != nil {
		return Token{}, "", s.refuseCode(r, hash, err)
	}
	burn, e := checkCode(code, c, p)
	if e == nil && s.cfg.SignIn != nil {
		burn, e = true, s.checkOwner(r, code)
	}
	if e != nil {
		if burn {
			err = s.store.DropCode(ctx, hash)
		}
		if err != nil {
			return Token{}, "", s.refuseCode(r, hash, err)
		}
		return Token{}, "", e
	}
	secret := newSecret()
	t := newToken(secret, code.Grant, code.Generation, now, code.Grant.lifetime())
	if err := s.store.Redeem(ctx, hash, t, now); err != nil {
		return Token{}, "", s.refuseCode(r, hash, err)
	}
	return t, secret, nil
}

// revokeTime bounds the revocation of a token whose code was replayed.
const revokeTime = 10 * time.Second

// levelOf returns how to log an error of the store: that a client has left is none of the server's errors.
func levelOf(ctx context.Context) slog.Level {
	if ctx.Err() != nil {
		return slog.LevelInfo
	}
	return slog.LevelError
}

// refuseCode maps a store's error. A replayed code may be stolen, so its token is revoked.
// RFC 6749 4.1.2.
func (s *Server) refuseCode(r *http.Request, hash Hash, err error) *Error {
	switch {
	case errors.Is(err, ErrNotFound):
		return unknownCode()
	case errors.Is(err, ErrFull):
		return full()
	case errors.Is(err, ErrReplayed):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), revokeTime) // a thief may hang up
		defer cancel()
		if err = s.store.RevokeReplayed(ctx, hash); err == nil {
			s.log.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] code replayed, token revoked")
			return invalidGrant("code was already used; its token is revoked")
		}
	}
	s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] code redemption failed", slog.Any("error", err))
	return serverError()
}

func unknownCode() *Error { return invalidGrant("code is unknown or has expired") }

// checkCode refuses a code; burn also makes the code unusable.
func checkCode(code Code, c client, p params) (burn bool, e *Error) {
	switch redirect := p.get("redirect_uri"); {
	case code.Client != c.fingerprint():
		return true, unknownCode() // nobody learns that somebody else's code is good
	case redirect != "" && redirect != code.Redirect:
		return false, invalidGrant("redirect_uri differs from the authorization request")
	case !verifies(p.get("code_verifier"), code.Challenge):
		return true, invalidGrant("code_verifier does not match the code_challenge")
	}
	return false, nil
}

// verifies compares in constant time. RFC 7636 4.1, 4.6.
func verifies(verifier string, challenge [sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare(sum[:], challenge[:]) == 1 && len(verifier) >= 43 && len(verifier) <= 128
}
