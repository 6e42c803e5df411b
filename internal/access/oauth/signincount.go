package oauth

import (
	"errors"
	"sync/atomic"
)

// signIns counts how sign-ins at the identity provider ended.
type signIns struct{ signedIn, refused, suspended, erased, failed atomic.Uint64 }

// count counts a sign-in that nothing has refused, or one that failed here.
func (s *signIns) count(e *Error) {
	switch {
	case e == nil:
		s.signedIn.Add(1)
	case e.Status >= 500:
		s.failed.Add(1)
	}
}

// ended counts a sign-in of an owner who may not.
func (s *signIns) ended(err error) {
	switch {
	case errors.Is(err, ErrSuspended):
		s.suspended.Add(1)
	case errors.Is(err, ErrErased):
		s.erased.Add(1)
	}
}

// SignIns returns how many sign-ins at the identity provider ended how: signed_in, refused by the allow-list, suspended, erased, or failed
// at the provider or here.
func (s *Server) SignIns() map[string]uint64 {
	n := s.signIns
	return map[string]uint64{
		"signed_in": n.signedIn.Load(), "refused": n.refused.Load(), "suspended": n.suspended.Load(), "erased": n.erased.Load(), "failed": n.failed.Load(),
	}
}
