package storetest

import (
	"strconv"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// RunOwners runs what holds among many owners. open returns an empty store with a capacity.
func RunOwners(t *testing.T, open func(*testing.T, oauth.Capacity) oauth.Store) {
	t.Helper()
	most := oauth.Capacity{Codes: 12, Tokens: 12, OwnerCodes: 3, OwnerTokens: 4}
	for name, check := range map[string]func(*testing.T, oauth.Store){
		"an owner's approvals end none of another's": ownShare,
		"a full store refuses and ends nothing":      refuseFull,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, most))
		})
	}
}

// ownShare lets bob approve many clients beside ann's one.
func ownShare(t *testing.T, s oauth.Store) {
	t.Helper()
	hers := issueTo(t, s, "hers", "ann", start())
	pending := put(t, s, codeOf("pending", "ann", start()), start())
	for i := range 30 {
		issueTo(t, s, "bob's "+strconv.Itoa(i), "bob", start().Add(time.Duration(i)*time.Second))
		put(t, s, codeOf("bob's pending "+strconv.Itoa(i), "bob", start()), start())
	}
	_, err := s.Token(t.Context(), hers.Hash, start())
	must(t, err)
	_, err = s.Code(t.Context(), pending.Hash, start())
	must(t, err)
	list, err := s.Tokens(t.Context(), "bob", start())
	must(t, err)
	if len(list) != 4 || list[0].ID != "bob's 29" || list[3].ID != "bob's 26" {
		t.Errorf("bob has %v", list)
	}
	// A redeemed code of ann's is still recognised.
	want(t, s.Redeem(t.Context(), codeOf("hers", "ann", start()).Hash, token("again", "ann", start()), start()), oauth.ErrReplayed)
}

// refuseFull fills a store with the whole shares of three owners.
func refuseFull(t *testing.T, s oauth.Store) {
	t.Helper()
	all := make([]oauth.Token, 0, 12)
	for _, owner := range []principal.Owner{"ann", "bob", "cid"} {
		for i := range 4 {
			all = append(all, issueTo(t, s, string(owner)+strconv.Itoa(i), owner, start().Add(time.Duration(i)*time.Second)))
		}
	}
	late := put(t, s, codeOf("late", "dan", start()), start())
	tok := token("late", "dan", start())
	tok.Generation = late.Generation
	want(t, s.Redeem(t.Context(), late.Hash, tok, start()), oauth.ErrFull)
	want(t, s.PutToken(t.Context(), tok, start()), oauth.ErrFull)
	for _, one := range all {
		_, err := s.Token(t.Context(), one.Hash, start())
		must(t, err)
	}
	issueTo(t, s, "ann4", "ann", start().Add(time.Minute)) // in the place of her first
	_, err := s.Token(t.Context(), all[0].Hash, start())
	want(t, err, oauth.ErrNotFound)
	must(t, s.Revoke(t.Context(), "bob", "bob2"))
	must(t, s.Redeem(t.Context(), late.Hash, tok, start())) // the code was not used up
	for i := range 12 {
		put(t, s, codeOf("open "+strconv.Itoa(i), principal.Owner("owner "+strconv.Itoa(i/3)), start()), start())
	}
	c := codeOf("one more", "dan", start())
	c.Generation = s.Seal().Generation()
	want(t, s.PutCode(t.Context(), c, start()), oauth.ErrFull)
}

func codeOf(name string, owner principal.Owner, at time.Time) oauth.Code {
	c := code(name, at)
	c.Grant.Subject = owner
	return c
}

func issueTo(t *testing.T, s oauth.Store, name string, owner principal.Owner, at time.Time) oauth.Token {
	t.Helper()
	c, tok := codeOf(name, owner, at), token(name, owner, at)
	tok.Generation = put(t, s, c, at).Generation
	must(t, s.Redeem(t.Context(), c.Hash, tok, at))
	return tok
}
