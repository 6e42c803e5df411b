package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
	"candela/lib/fault"
)

// Resource describes a resource to clients.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType"`
}

// ResourceSet is the set of resources behind a Server. It must be safe for concurrent use.
// An error that is a fault is sent to the client, any other is logged.
type ResourceSet interface {
	Resources() []Resource

	// Read returns the text of a resource that Resources lists, as the caller sees it.
	Read(ctx context.Context, caller principal.Caller, uri string) ([]byte, error)

	// Watch reports changes of a resource that Resources lists, from now on.
	Watch(ctx context.Context, caller principal.Caller, uri string) (Watch, error)
}

// A Watch reports changes of one resource. One goroutine uses it.
type Watch interface {
	Ready() <-chan struct{} // receives after changes
	Close()
}

// find returns the resource with an address.
func (m *modernServer) find(uri string) (Resource, bool) {
	for _, r := range m.resources.Resources() {
		if r.URI == uri {
			return r, true
		}
	}
	return Resource{}, false
}

// appendResource answers resources/read. What a resource contains depends on the caller
// and may change at any time, so clients must not cache it.
func (j *Job) appendResource(ctx context.Context, dst []byte, m rpc.Message) ([]byte, *rpc.Error) {
	s := j.server.modern
	uri := textField(m.Params, "uri")
	resource, ok := s.find(uri)
	if !ok {
		return dst, unknownResource(uri)
	}
	var text []byte
	failure := j.server.guarded(ctx, j.from, m.Method, func() (err error) {
		text, err = s.resources.Read(ctx, j.from.Caller, resource.URI)
		return err
	})
	if failure != nil {
		return dst, failure
	}
	dst = append(rpc.AppendResultOpen(dst, m.ID), s.as.open...)
	dst = append(dst, `"contents":[{"uri":`...)
	dst = strictjson.AppendString(dst, resource.URI)
	dst = append(dst, `,"mimeType":`...)
	dst = strictjson.AppendString(dst, resource.MIME)
	dst = append(dst, `,"text":`...)
	dst = strictjson.AppendString(dst, text)
	return append(dst, `}],"ttlMs":0,"cacheScope":"private"}}`...), nil
}

func unknownResource(uri string) *rpc.Error {
	if uri == "" {
		return invalidParams("uri is required: an address from " + methodListResources)
	}
	data, _ := json.Marshal(map[string]string{"uri": shorten(uri)}) // a text always can be
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: fmt.Sprintf("resource not found: %q; use an address from %s", shorten(uri), methodListResources), Data: data}
}

// guarded runs work and converts its failure, also a panic, into an error for the client.
func (s *Server) guarded(ctx context.Context, from Origin, method string, work func() error) *rpc.Error {
	err := func() (err error) {
		defer recoverTo(&err)
		return work()
	}()
	if err == nil {
		return nil
	}
	f := fault.Of(err)
	if f == nil || f.Kind == fault.Internal {
		s.log.LogAttrs(ctx, slog.LevelError, "[MCP] resource failed", slog.String("method", method), slog.String("request_id", from.RequestID), slog.Any("error", err))
		return internalError(from.RequestID)
	}
	failure := &rpc.Error{Code: rpc.CodeInternal, Message: f.Public()}
	if f.Kind == fault.Unauthorized {
		failure.Code = rpc.CodeInvalidParams
	}
	failure.Data, _ = json.Marshal(struct {
		Code      string `json:"code"`
		Retryable bool   `json:"retryable"`
	}{f.Code, f.Retryable})
	return failure
}
