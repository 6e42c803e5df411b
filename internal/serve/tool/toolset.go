package tool

// The names of the tool sets.
const (
	MarketSet     = "market"
	AccountSet    = "account"
	ScriptsSet    = "scripts"
	ResearchSet   = "research"
	StrategiesSet = "strategies"
	DrawingsSet   = "drawings"
	AllSets       = "all" // stands for every set there is
)

// Toolset describes tools that are listed on request only.
type Toolset struct {
	Name    string
	Purpose string // "" for a name that is reserved
}

// Toolsets lists the sets, in the order in which their tools are listed.
func Toolsets() []Toolset {
	return []Toolset{
		{MarketSet, "find_symbols searches instruments by name"},
		{AccountSet, "get_account shows cash, equity, earnings, limits and the policy; get_trades lists what each exit earned"},
		{ScriptsSet, "check_script, save_script and delete_script; stored Pine scripts in charts, alerts and back-tests"},
		{ResearchSet, "run_backtest, test_alert, scan_symbols and get_report: what rules and alerts would have done, and which symbols meet a condition"},
		{StrategiesSet, "propose_deployment, list_deployments, get_deployment and stop_deployment: strategies that run by themselves"},
		{DrawingsSet, "list_drawings, set_drawing and delete_drawing: what stays on the owner's charts; saved_drawings of generate_chart draws it"},
	}
}
