package conn

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
)

// schema is the version of what the streams hold. A change that an older replica
// would misread raises it.
const (
	schema      = 2 // everything is sealed
	schemaKey   = "candela_schema"
	sealKey     = "candela_seal" // the fingerprint of the secret
	StreamIDKey = "candela_id"   // drawn for each stream: when it was made, servers do not tell for certain
)

// StreamName returns the name of a stream.
func (c *Conn) StreamName(stream string) string { return c.prefix + "_" + stream }

// Subject returns a subject below the prefix. Its tokens must be encoded already.
func (c *Conn) Subject(tokens ...string) string { return c.prefix + "." + strings.Join(tokens, ".") }

// EncodeToken turns any text into one token of a subject. A symbol may have dots,
// stars and spaces, which have a meaning there.
func EncodeToken(text string) string {
	if text == "" {
		return "=" // base64url without padding never gives it
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// DecodeToken reads what encode wrote.
func DecodeToken(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	return string(text), err
}

// OpenStream returns a stream, made if it is not there. Replicas that start together
// make it once. One that a later version has written is refused.
func (c *Conn) OpenStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Name = c.StreamName(cfg.Name)
	cfg.Replicas = c.replicas
	cfg.Metadata = map[string]string{schemaKey: strconv.Itoa(schema), sealKey: c.Seals.fingerprint, StreamIDKey: rand.Text()}
	var s jetstream.Stream
	err := c.retryCreate(ctx, func(ctx context.Context) (err error) {
		if s, err = c.js.Stream(ctx, cfg.Name); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		if s, err = c.js.CreateStream(ctx, cfg); errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = c.js.Stream(ctx, cfg.Name) // another was first
		}
		return err
	})
	if err != nil {
		return nil, fault.Unreachable(err, 0, "the stream %s cannot be opened; the log says why", cfg.Name)
	}
	found := s.CachedInfo().Config.Metadata
	if err := checkSchema(cfg.Name, found[schemaKey]); err != nil {
		return nil, err
	}
	return s, c.checkSecret(cfg.Name, found[sealKey])
}

// checkSecret says so at once when this replica has another secret than the others:
// it could read nothing of theirs.
func (c *Conn) checkSecret(name, found string) error {
	if found == c.Seals.fingerprint {
		return nil
	}
	return &fault.Error{
		Kind: fault.Unsupported, Code: "cluster_secret", Field: "cluster-secret-file", Value: name,
		Message: fmt.Sprintf("the stream %s was made with another cluster secret (fingerprint %q, ours is %q): "+
			"give every replica the same --cluster-secret-file, or this installation another --nats-prefix", name, found, c.Seals.fingerprint),
	}
}

func checkSchema(name, found string) error {
	version, err := strconv.Atoi(found)
	if err == nil && version == schema {
		return nil
	}
	return &fault.Error{
		Kind: fault.Unsupported, Code: "nats_schema", Field: "stream", Value: name,
		Message: fmt.Sprintf("the stream %s has schema %q and this candela reads %d", name, found, schema),
	}
}
