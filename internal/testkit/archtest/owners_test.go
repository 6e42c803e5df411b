package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// ownerEdges are the places where a parameter called subject is no owner, each with the reason.
func ownerEdges() map[string]string {
	return map[string]string{
		"internal/data/upstream/":           "a subject is what a venue was asked for",
		"internal/trading/guard/":           "a subject is what a restriction is about",
		"internal/access/upstream/":         "a subject is a claim of an identity provider",
		"internal/access/owners/records.go": "a subject is a claim of an identity provider",
		"internal/store/ledger/":            "a subject is a claim, or what an event is about",
		"internal/store/replica/":           "a subject is an address at the NATS servers, or a claim",
		"internal/operate/control/":         "a subject is a claim of an identity provider",
		"internal/work/hosting/":            "a subject is a claim of an identity provider",
		"internal/access/owners/owners.go":  "a subject is a claim of an identity provider",
	}
}

// TestOwnersHaveAType refuses ports that take the owner as any text: with a type of its own, no id
// or name can be passed for it.
func TestOwnersHaveAType(t *testing.T) {
	t.Parallel()
	edges := ownerEdges()
	used := make(map[string]bool)
	walkGo(t, func(name string, fset *token.FileSet, f *ast.File) {
		if !ours(name) || isTestName(name) {
			return
		}
		for _, p := range textOwners(f) {
			edge := edgeOf(edges, name)
			if edge != "" && p.Name == "subject" {
				used[edge] = true
				continue
			}
			t.Errorf("%s: %s is a string; make it a principal.Owner", fset.Position(p.Pos()), p.Name)
		}
	})
	for edge := range edges {
		if !used[edge] {
			t.Errorf("%s needs no exception any more", edge)
		}
	}
}

func edgeOf(edges map[string]string, name string) string {
	for edge := range edges {
		if strings.HasPrefix(name, edge) {
			return edge
		}
	}
	return ""
}

// textOwners returns the parameters of exported functions, methods and interfaces that are called
// as owners are and have type string.
func textOwners(f *ast.File) (found []*ast.Ident) {
	take := func(of *ast.FuncType) {
		for _, p := range of.Params.List {
			if text, ok := p.Type.(*ast.Ident); !ok || text.Name != "string" {
				continue
			}
			for _, n := range p.Names {
				if slices.Contains([]string{"owner", "ownerID", "subject"}, n.Name) {
					found = append(found, n)
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.IsExported() {
				take(n.Type)
			}
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				if of, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 && m.Names[0].IsExported() {
					take(of)
				}
			}
		}
		return true
	})
	return found
}
