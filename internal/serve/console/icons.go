package console

import "html/template"

// Icons returns the function that draws an icon of the console, for pages that look like it.
func Icons() func(name string) template.HTML { return icons() }

// icons returns the function that draws an icon of 16 by 16 points in the colour of the text
// around it.
func icons() func(name string) template.HTML {
	paths := iconPaths()
	return func(name string) template.HTML {
		return template.HTML(`<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="` + paths[name] + `"/></svg>`) //nolint:gosec // G203: constants
	}
}

func iconPaths() map[string]string {
	return map[string]string{
		"home":    "M2.5 7 8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z",
		"chart":   "M4 2v2.5M4 10v3.5M2.75 4.5h2.5V10h-2.5zM8 4v2M8 11.5V14M6.75 6h2.5v5.5h-2.5zM12 1.5V4M12 8.5V11M10.75 4h2.5v4.5h-2.5z",
		"bell":    "M8 2a4 4 0 0 0-4 4c0 4-1.5 5-1.5 5h11S12 10 12 6a4 4 0 0 0-4-4zM6.7 13.5a1.4 1.4 0 0 0 2.6 0",
		"list":    "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
		"shield":  "M8 1.8 13 3.5v4c0 3.4-2.2 5.6-5 6.7-2.8-1.1-5-3.3-5-6.700v-4zM5.8 8l1.6 1.6 2.9-3.2",
		"plug":    "M6 1.800v3M10 1.800v3M4 4.800h8v2.700a4 4 0 0 1-8 0zM8 11.500v3",
		"code":    "M5.5 4.5 2 8l3.5 3.500M10.5 4.5 14 8l-3.5 3.5",
		"log":     "M3 2.500h10v11H3zM5.5 5.500h5M5.5 8h5M5.5 10.500h3",
		"gear":    "M8 5.800a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.400zM8 1.800v1.700M8 12.500v1.700M1.8 8h1.700M12.5 8h1.700M3.6 3.600l1.2 1.200M11.2 11.200l1.2 1.200M3.6 12.400l1.2-1.200M11.2 4.800l1.2-1.2",
		"search":  "M7 2.500a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.300l3.2 3.2",
		"stop":    "M5.3 1.800h5.400l3.5 3.500v5.400l-3.5 3.500H5.300l-3.5-3.500V5.300zM5.5 8h5",
		"theme":   "M13.5 9.500A6 6 0 1 1 6.5 2.500a4.7 4.7 0 0 0 7 7z",
		"clock":   "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.800V8l2.2 1.5",
		"warn":    "M8 2.3 14.5 13.500h-13zM8 6.500v3M8 11.500v.01",
		"x":       "M4 4l8 8M12 4l-8 8",
		"check":   "M3 8.5 6.5 12 13 4.5",
		"out":     "M6.5 2.500h-4v11h4M10 5l3 3-3 3M13 8H6",
		"more":    "M3.5 8h.01M8 8h.01M12.5 8h.01",
		"globe":   "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2z",
		"term":    "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3",
		"app":     "M2 3h12v10H2zM2 5.800h12",
		"phone":   "M5 1.800h6v12.400H5zM7.5 12h1",
		"play":    "M4.5 2.500v11l9-5.500z",
		"part":    "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 2v6h6",
		"key":     "M10.5 2.500a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.3 7.7 2.5 13.500M4.5 11.500l1.5 1.5",
		"chev":    "M4 6l4 4 4-4",
		"arrow":   "M3 8h10M9 4l4 4-4 4",
		"copy":    "M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3",
		"select":  "M3.5 2.500l9 4-4 1.5-1.5 4z",
		"line":    "M3.2 12.800 12.8 3.200M2 12.800a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 0 0-2.400 0zM11.6 3.200a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 0 0-2.400 0z",
		"ray":     "M3.2 12.800 14 2M2 12.800a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 0 0-2.400 0zM7 8.800a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 0 0-2.400 0z",
		"level":   "M1.5 8h13M6.8 8a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 0 0-2.400 0z",
		"box":     "M2.5 4h11v8h-11z",
		"fib":     "M2 3h12M2 6.200h12M2 9.400h12M2 13h12",
		"text":    "M3.5 3.500h9M8 3.500v9.500M6.5 13h3",
		"measure": "M2.5 10.500 10.5 2.500l3 3-8 8zM5.5 7.500l1.5 1.5M7.7 5.300l1.5 1.5",
		"eye":     "M1.5 8s2.5-4.500 6.5-4.500S14.5 8 14.5 8 12 12.500 8 12.500 1.5 8 1.500 8zM8 6.200a1.800 1.8 0 1 0 0 3.6 1.800 1.8 0 0 0 0-3.600z",
		"trash":   "M3 4.500h10M6 4.500v-2h4v2M4.2 4.500l.6 9h6.400l.6-9M6.8 7v4M9.2 7v4",
		"move":    "M8 2v12M5.5 4.500 8 2l2.5 2.500M5.5 11.500 8 14l2.5-2.500",
		"pause":   "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.5 6v4M9.5 6v4",
		"people":  "M6 3a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M10.500 3.300a2.500 2.500 0 0 1 0 4.500M12 9.800c1.500.6 2.500 1.900 2.500 3.700",
		"rows":    "M2.500 4h11v3h-11zM2.500 9h11v3h-11z",
		"pulse":   "M1.500 8h3l2-5 3 10 2-5h3",
	}
}
