package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

// appsExtension is the extension by which a server offers pages that a client shows for
// its tools, and pageMIME the type of such pages.
const (
	appsExtension = "io.modelcontextprotocol/ui"
	pageMIME      = "text/html;profile=mcp-app"
)

// App is a page that clients with the extension for apps show in place of a tool's result.
// Other clients see nothing of it.
type App struct {
	URI         string
	Name        string
	Title       string
	Description string
	Page        func() ([]byte, error) // the page, one HTML file; must be safe for concurrent use
	Tool        string                 // the tool whose results it shows
	Callable    []string               // further tools that the page may call; all others are for the model alone
}

// appServer holds what clients that show apps get instead of the common answers.
type appServer struct {
	app        *App
	initialize json.RawMessage
	list       json.RawMessage
	resources  json.RawMessage
	modern     map[string]json.RawMessage // results of the methods without arguments
}

// appExtension is what the server announces to clients that have announced the extension.
const appExtension = `"` + appsExtension + `":{}`

// newAppServer returns nil if there is no app.
func newAppServer(offered []Tool, cfg Config) (*appServer, error) {
	if cfg.App == nil {
		return nil, nil //nolint:nilnil // no app is not a failure
	}
	tools, err := appTools(offered, cfg.App)
	if err != nil {
		return nil, err
	}
	a := &appServer{app: cfg.App}
	if a.list, err = listTools(tools, cfg.Structured); err != nil {
		return nil, err
	}
	if a.initialize, err = hello(cfg, `"resources":{},"extensions":{`+appExtension+`}`); err != nil {
		return nil, err
	}
	a.resources, err = json.Marshal(map[string]any{"resources": []Resource{a.resource()}})
	if err != nil {
		return nil, fmt.Errorf("marshal the resource list: %w", err)
	}
	return a, nil
}

func (a *appServer) resource() Resource {
	return Resource{URI: a.app.URI, Name: a.app.Name, Title: a.app.Title, Description: a.app.Description, MIME: pageMIME}
}

// appTools returns the tools with the member ui in the _meta of each: the page of the app's
// tool, and who may call the tool. Without it a page could call any.
func appTools(offered []Tool, app *App) ([]Tool, error) {
	tools := slices.Clone(offered)
	for i := range tools {
		ui := struct {
			URI        string   `json:"resourceUri,omitempty"`
			Visibility []string `json:"visibility"`
		}{Visibility: []string{"model"}}
		if tools[i].Name == app.Tool {
			ui.URI = app.URI
		}
		if ui.URI != "" || slices.Contains(app.Callable, tools[i].Name) {
			ui.Visibility = append(ui.Visibility, "app")
		}
		meta := map[string]any{}
		if tools[i].Meta != nil {
			if err := json.Unmarshal(tools[i].Meta, &meta); err != nil {
				return nil, fmt.Errorf("read _meta of %s: %w", tools[i].Name, err)
			}
		}
		meta["ui"] = ui
		var err error
		if tools[i].Meta, err = json.Marshal(meta); err != nil {
			return nil, fmt.Errorf("marshal _meta of %s: %w", tools[i].Name, err)
		}
	}
	return tools, nil
}

// announcesApps reports whether the capabilities of a client name the extension with the
// type of page that is served, or with none.
func announcesApps(capabilities json.RawMessage) bool {
	if !bytes.Contains(capabilities, []byte(appsExtension)) {
		return false
	}
	var c struct {
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	if json.Unmarshal(capabilities, &c) != nil {
		return false
	}
	raw, ok := c.Extensions[appsExtension]
	if !ok || len(raw) == 0 || raw[0] != '{' {
		return false
	}
	var settings struct {
		Types []string `json:"mimeTypes"`
	}
	if json.Unmarshal(raw, &settings) != nil {
		return false
	}
	return settings.Types == nil || slices.Contains(settings.Types, pageMIME)
}

// appsSession ends the session ids of clients that have announced the extension. So a
// server that keeps nothing between requests knows them again.
const appsSession = "-apps"

// AppsSession returns the session id of a client that initializes, and whether it shows
// apps. If it does, the id says so; if not, it is unchanged.
func (s *Server) AppsSession(body rpc.Body, id string) (string, bool) {
	if s.apps == nil || !Initializes(body) {
		return id, false
	}
	capabilities, _ := member(body.Calls[0].Params, "capabilities", '{')
	if !announcesApps(capabilities) {
		return id, false
	}
	return strings.TrimSuffix(id, appsSession) + appsSession, true
}

// IsAppsSession reports whether a session id came from AppsSession of a client that shows
// apps.
func IsAppsSession(id string) bool { return strings.HasSuffix(id, appsSession) }

// appendApps answers what differs for clients that show apps, and reports whether it did.
func (j *Job) appendApps(ctx context.Context, dst []byte, m rpc.Message) (_ []byte, _ *rpc.Error, done bool) {
	a := j.server.apps
	switch m.Method {
	case methodListTools:
		return appendConstant(dst, m, a.list)
	case methodListResources:
		return appendConstant(dst, m, a.resources)
	case methodListTemplates:
		return appendConstant(dst, m, json.RawMessage(`{"resourceTemplates":[]}`))
	case methodReadResource:
		uri := textField(m.Params, "uri")
		if uri != a.app.URI {
			return dst, unknownResource(uri), true
		}
		dst, failure := j.appendPage(ctx, dst, m, "{", "")
		return dst, failure, true
	}
	return dst, nil, false
}

func appendConstant(dst []byte, m rpc.Message, result json.RawMessage) ([]byte, *rpc.Error, bool) {
	if failure := checkCursor(m.Params); failure != nil {
		return dst, failure, true
	}
	return rpc.AppendResult(dst, m.ID, result), nil, true
}

// appendPage appends the result of resources/read. The page needs no other host, and says
// so: the lists of domains are empty.
func (j *Job) appendPage(ctx context.Context, dst []byte, m rpc.Message, open, end string) ([]byte, *rpc.Error) {
	app := j.server.apps.app
	var page []byte
	failure := j.server.guarded(ctx, j.from, m.Method, func() (err error) {
		page, err = app.Page()
		return err
	})
	if failure != nil {
		return dst, failure
	}
	dst = append(rpc.AppendResultOpen(dst, m.ID), open...)
	dst = append(dst, `"contents":[{"uri":`...)
	dst = strictjson.AppendString(dst, app.URI)
	dst = append(dst, `,"mimeType":"`+pageMIME+`","text":`...)
	dst = strictjson.AppendString(dst, page)
	dst = append(dst, `,"_meta":{"ui":{"csp":{"connectDomains":[],"resourceDomains":[]},"prefersBorder":true}}}]`...)
	return append(append(dst, end...), '}', '}'), nil
}
