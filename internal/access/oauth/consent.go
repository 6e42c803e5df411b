package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"candela/internal/kit/principal"
)

const formPurpose = "form"

// replacedWait is the Retry-After of a replica whose passphrase was replaced: by then
// another one may answer.
const replacedWait = 5 * time.Second

// ServeConsent answers POST /consent: the owner's decision.
func (s *Server) ServeConsent(w http.ResponseWriter, r *http.Request) {
	s = s.pinned()
	p, e := s.readForm(w, r)
	if e == nil && p.get("login") != "" {
		s.continueLogin(w, r, p)
		return
	}
	var q request
	if e == nil {
		q, e = s.openRequest(r, p)
	}
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	switch p.get("decision") {
	case "deny":
		s.dropFlow(w, q.Flow)
		s.limitedLog.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] client denied", slog.String("client", q.Client), slog.String("client_name", q.Name))
		s.sendBack(w, q.destination(), "error", "access_denied", "error_description", "the owner denied the request")
		return
	case "logout":
		s.logOut(w, r, p, q)
		return
	case "approve":
	default:
		s.writeErrorPage(w, r, invalidRequest("decision must be approve, deny or logout"))
		return
	}
	granted, e := s.readChoice(p, q)
	if e != nil {
		s.writeErrorPage(w, r, e)
		return
	}
	if s.cfg.SignIn != nil && !s.confirmPerson(w, r, &q) {
		return
	}
	code := s.seal.derive(codePurpose, q.Nonce)
	if _, err := s.store.Code(r.Context(), HashOf(code), time.Now()); err == nil {
		// It was issued and is unused. A double click sends the form twice, and the browser
		// follows the second response.
		s.sendBack(w, q.destination(), "code", code)
		return
	}
	subject := q.Approver
	if subject == "" {
		if subject, e = s.decider(w, r, p.get("passphrase")); e != nil {
			s.askAgain(w, r, s.consentPage(r, q, granted), e)
			return
		}
	}
	if !s.unchanged(r, q) {
		s.writeErrorPage(w, r, invalidClient(http.StatusBadRequest, "the document of the client has changed; connect again from the program that sent you here"))
		return
	}
	s.approve(w, r, q, subject, granted)
}

// decider returns the owner who approves: one who is logged in, unless trading is live,
// or one who enters the passphrase and is then logged in. A one-time passphrase creates
// no login. It is checked before the rate limits: it cannot be guessed, and others'
// guesses must not lock out an owner at the machine.
func (s *Server) decider(w http.ResponseWriter, r *http.Request, passphrase string) (principal.Owner, *Error) {
	if s.cfg.SignIn != nil {
		return "", staleForm() // nobody has a passphrase
	}
	if subject := s.loggedIn(r); subject != "" && s.cfg.Trading != LiveTrading {
		return subject, nil
	}
	if s.takePass(r, passphrase) {
		_ = s.audit.note(r.Context(), Event{Kind: "owner_logged_in", Subject: SoleOwner, Address: s.cfg.Address(r).String()})
		return SoleOwner, nil
	}
	subject, e := s.authenticate(r, passphrase)
	if e != nil {
		return "", e
	}
	_ = s.audit.note(r.Context(), Event{Kind: "owner_logged_in", Subject: subject, Address: s.cfg.Address(r).String()})
	return subject, s.logIn(w, r, subject)
}

// readForm reads a form that this server's page must have sent.
func (s *Server) readForm(w http.ResponseWriter, r *http.Request) (params, *Error) {
	if s.origin.Check(r) != nil {
		return params{}, refuse(http.StatusForbidden, "invalid_request", "the form was sent by another site")
	}
	if mediaType(r) != "application/x-www-form-urlencoded" {
		return params{}, invalidRequest("the form must be application/x-www-form-urlencoded")
	}
	body, e := readBody(w, r)
	if e != nil {
		return params{}, e
	}
	return parseForm(string(body))
}

// openRequest opens the request of a consent form.
func (s *Server) openRequest(r *http.Request, p params) (request, *Error) {
	var q request
	if s.seal.open(formPurpose, p.get("request"), &q) != nil || !s.fresh(r, q.Browser, q.Expires) {
		return request{}, staleForm()
	}
	return q, nil
}

// fresh reports whether a form has not expired and comes from the browser it was made for.
func (s *Server) fresh(r *http.Request, browser string, expires int64) bool {
	value := s.browserValue(r)
	return time.Now().Unix() < expires && value != "" && fingerprint(value) == browser
}

func staleForm() *Error {
	return invalidRequest("the form has expired or belongs to another browser; start again in the program that sent you here")
}

// authenticate checks a passphrase. The rate limits come first, so that guesses cost the
// server nothing. A replica that compares none counts none.
func (s *Server) authenticate(r *http.Request, passphrase string) (principal.Owner, *Error) {
	if errors.Is(s.owner.Current(), ErrReplaced) {
		return "", outdated()
	}
	address := s.cfg.Address(r)
	left, refused := s.countGuess(r.Context(), address)
	if refused != nil {
		return "", refused
	}
	subject, err := s.owner.Authenticate(r.Context(), passphrase)
	switch {
	case err == nil:
		if err := s.limits.forget(r.Context(), address); err != nil {
			s.log.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] guesses not forgotten", slog.Any("error", err))
		}
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "[OAuth] owner logged in", slog.String("subject", string(subject)), slog.String("address", address.String()))
		return subject, nil
	case errors.Is(err, ErrReplaced):
		return "", outdated()
	case errors.Is(err, ErrWrongPassphrase):
		return "", refuse(http.StatusUnauthorized, "access_denied", "Wrong passphrase. "+triesLeft(min(left, s.limits.guessesLeft(address, time.Now()))))
	}
	s.log.LogAttrs(r.Context(), levelOf(r.Context()), "[OAuth] passphrase check failed", slog.Any("error", err))
	return "", serverError()
}

// outdated is the error of a replica that was started with a former passphrase.
func outdated() *Error {
	e := refuse(http.StatusServiceUnavailable, "temporarily_unavailable", "The owner's passphrase was changed, and this replica was started with the old one. It accepts neither.")
	e.RetryAfter = replacedWait
	return e
}

// countGuess counts a guess here and, if there are replicas, among them. left is how many the address
// has among them.
func (s *Server) countGuess(ctx context.Context, address netip.Addr) (left int, _ *Error) {
	wait := s.limits.tryGuess(address, time.Now())
	if wait == 0 {
		var err error
		if left, wait, err = s.limits.trySharedGuess(ctx, address); err != nil {
			s.log.LogAttrs(ctx, levelOf(ctx), "[OAuth] guess not counted", slog.Any("error", err))
			return 0, serverError()
		}
	}
	if wait > 0 {
		e := slowDown(wait)
		e.Description = "Too many attempts."
		return 0, e
	}
	return left, nil
}

func triesLeft(n int) string {
	switch n {
	case 0:
		return "No tries left for now."
	case 1:
		return "1 try left."
	}
	return strconv.Itoa(n) + " tries left."
}

// askAgain shows the form again with the error.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, data pageData, e *Error) {
	s.limitedLog.LogAttrs(r.Context(), slog.LevelWarn, "[OAuth] login refused", slog.Int("status", e.Status),
		slog.String("reason", e.Description), slog.String("address", s.cfg.Address(r).String()))
	data.Mistake = e.Description
	if e.RetryAfter > 0 {
		setRetryAfter(w, e.RetryAfter)
		data.Mistake += " Try again in " + inWords(e.RetryAfter) + "."
	}
	s.writePage(w, e.Status, data)
}
