package conn

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// schema is the version of the stored data. A change that an older replica would misread raises
// it.
const (
	schema      = 2 // with sealed messages
	schemaKey   = "candela_schema"
	sealKey     = "candela_seal" // the fingerprint of the secret
	ownersKey   = "candela_owners"
	StreamIDKey = "candela_id" // random for each stream; servers do not report reliably when they created it
)

// StreamName returns the name of a stream.
func (c *Conn) StreamName(stream string) string { return c.prefix + "_" + stream }

// Subject returns a subject below the prefix. Its tokens must be encoded already.
func (c *Conn) Subject(tokens ...string) string { return c.prefix + "." + strings.Join(tokens, ".") }

// EncodeToken encodes any text as one token of a subject. A symbol may contain dots, stars and
// spaces, which are special there.
func EncodeToken(text string) string {
	if text == "" {
		return "=" // base64url without padding never gives it
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// DecodeToken decodes a token of EncodeToken.
func DecodeToken(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	return string(text), err
}

// OpenStream returns a stream and creates it if it does not exist. Replicas that start together
// create it once. Streams of another schema or secret are refused.
func (c *Conn) OpenStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Name = c.StreamName(cfg.Name)
	cfg.Replicas = c.replicas
	cfg.Metadata = map[string]string{schemaKey: strconv.Itoa(schema), sealKey: c.Seals.fingerprint, StreamIDKey: rand.Text()}
	if c.many {
		cfg.Metadata[ownersKey] = manyOwners
	}
	var s jetstream.Stream
	err := c.retryCreate(ctx, func(ctx context.Context) (err error) {
		if s, err = c.js.Stream(ctx, cfg.Name); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		if s, err = c.js.CreateStream(ctx, cfg); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = c.js.Stream(ctx, cfg.Name) // created by another replica
		}
		return err
	})
	if err != nil {
		return nil, fault.Unreachable(err, 0, "Cannot open stream %s. The log has details.", cfg.Name)
	}
	found := s.CachedInfo().Config.Metadata
	if err := checkSchema(cfg.Name, found[schemaKey]); err != nil {
		return nil, err
	}
	if err := c.checkOwners(cfg.Name, found[ownersKey]); err != nil {
		return nil, err
	}
	return s, c.checkSecret(cfg.Name, found[sealKey])
}

// manyOwners is the value of ownersKey in an installation for many owners.
const manyOwners = "many"

// ManyOwners reports whether the installation is for many owners.
func (c *Conn) ManyOwners() bool { return c.many }

// checkOwners refuses a stream that was made for one owner in an installation for many, and the
// other way round: nobody could read what the other wrote.
func (c *Conn) checkOwners(name, found string) error {
	if (found == manyOwners) == c.many {
		return nil
	}
	made, configured := "single", "oidc"
	if !c.many {
		made, configured = configured, made
	}
	return &fault.Error{
		Kind: fault.Unsupported, Code: "owners_mode", Field: "owners", Value: configured,
		Message: fmt.Sprintf("Stream %s was made with --owners %s and cannot be used with --owners %s. Use the former, or another --nats-prefix.", name, made, configured),
	}
}

// ownerParts is into how many parts owners are divided by their names. No part has a stream of
// its own yet.
const ownerParts = 64

// OwnerSubject returns the subject of something that an owner has. It is the one place where such
// subjects are made. With many owners it names the owner, so that what an owner has can be
// read and removed by a filter, and nobody else's subject can be meant.
func (c *Conn) OwnerSubject(owner principal.Owner, kind string, tokens ...string) string {
	if !c.many {
		return c.Subject(append([]string{kind}, tokens...)...)
	}
	sum := sha256.Sum256([]byte(owner))
	return c.Subject(append([]string{kind, partToken(int(sum[0] % ownerParts)), EncodeToken(string(owner))}, tokens...)...)
}

func partToken(part int) string { return fmt.Sprintf("%02d", part) }

// PartFilters returns filters that together match what all owners have of a kind, so that it can
// be read part by part.
func (c *Conn) PartFilters(kind string) []string {
	if !c.many {
		return []string{c.Subject(kind, ">")}
	}
	all := make([]string, ownerParts)
	for i := range all {
		all[i] = c.Subject(kind, partToken(i), ">")
	}
	return all
}

// checkSecret refuses a stream sealed with another secret, of which nothing could be read.
func (c *Conn) checkSecret(name, found string) error {
	if found == c.Seals.fingerprint {
		return nil
	}
	return &fault.Error{
		Kind: fault.Unsupported, Code: "cluster_secret", Field: "cluster-secret-file", Value: name,
		Message: fmt.Sprintf("Stream %s was created with another cluster secret (fingerprint %q, configured %q). "+
			"Use the same --cluster-secret-file on every replica, or another --nats-prefix for this installation.", name, found, c.Seals.fingerprint),
	}
}

func checkSchema(name, found string) error {
	version, err := strconv.Atoi(found)
	if err == nil && version == schema {
		return nil
	}
	return &fault.Error{
		Kind: fault.Unsupported, Code: "nats_schema", Field: "stream", Value: name,
		Message: fmt.Sprintf("Stream %s has schema version %q; this version of candela supports %d.", name, found, schema),
	}
}
