package oauth

import (
	"errors"
	"log/slog"
	"net/http"

	"candela/internal/access/upstream"
)

// startAgain is the page of a sign-in that does not belong to this browser any more.
func startAgain(description string) *Error {
	e := invalidRequest(description)
	e.title, e.lead = "Start again", "Close this page and start again in the program that sent you here."
	return e
}

// notAllowed says no more than that: which rule is missing is in the log.
func notAllowed() *Error {
	e := refuse(http.StatusForbidden, "access_denied", "no rule of this server admits the account")
	e.title, e.lead = "Your account may not use this server", "You are signed in, and the operator of this server has not admitted your account."
	return e
}

func suspended() *Error {
	e := refuse(http.StatusForbidden, "access_denied", "the account is suspended")
	e.title, e.lead = "Your account is suspended", "The operator of this server has suspended your account. Your alerts and orders are kept."
	return e
}

// erased is the page of an owner whose data is gone. Erasing is final, also for the same person.
func erased() *Error {
	e := refuse(http.StatusForbidden, "access_denied", "the account is erased")
	e.title, e.lead = "Your account was erased", "The operator of this server has erased your account and its data. You cannot sign in with it again."
	return e
}

// notSignedIn is the page of somebody who turned back at the provider.
func notSignedIn() *Error {
	e := refuse(http.StatusForbidden, "access_denied", "the sign-in was cancelled")
	e.title = "You did not sign in"
	return e
}

// providerDown is the page while the identity provider does not answer, or not as it must.
// The id finds the reason in the log.
func providerDown(status int, id string) *Error {
	e := refuse(status, "temporarily_unavailable", "request "+id)
	e.title, e.lead = "The sign-in service does not answer", "Nothing is wrong with your account. Try again in a moment; programs that are connected go on working."
	e.RetryAfter = unavailableWait
	return e
}

// signInError maps an error of the identity provider to the page of it. The details are for
// the log.
func (s *Server) signInError(r *http.Request, err error) *Error {
	ctx, id := r.Context(), randomID()
	log := func(level slog.Level, text string) {
		//nolint:sloglint // every caller gives a literal
		s.limitedLog.LogAttrs(ctx, level, "[OAuth] "+text, slog.String("request_id", id), slog.Any("error", err), slog.String("address", s.cfg.Address(r).String()))
	}
	if answered, ok := errors.AsType[*upstream.AnswerError](err); ok {
		log(slog.LevelInfo, "sign-in not completed")
		switch answered.Code {
		case "access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required":
			return notSignedIn()
		case "temporarily_unavailable", "server_error":
			return providerDown(http.StatusServiceUnavailable, id)
		}
		return providerDown(http.StatusBadGateway, id)
	}
	if skew, ok := errors.AsType[*upstream.SkewError](err); ok {
		log(slog.LevelError, "sign-in refused: the clocks differ")
		e := providerDown(http.StatusBadGateway, id)
		e.title, e.lead = "The clocks differ", "The operator of this server must correct a clock. "+capital(skew.Error())+"."
		return e
	}
	switch {
	case errors.Is(err, upstream.ErrStartAgain):
		log(slog.LevelWarn, "sign-in refused")
		return startAgain("the sign-in does not belong to this request")
	case errors.Is(err, upstream.ErrUnavailable):
		log(slog.LevelError, "identity provider does not answer")
		return providerDown(http.StatusServiceUnavailable, id)
	}
	log(slog.LevelError, "sign-in refused: the identity provider's answer is not acceptable")
	return providerDown(http.StatusBadGateway, id)
}

// capital begins a sentence.
func capital(text string) string { return string(text[0]-'a'+'A') + text[1:] }
