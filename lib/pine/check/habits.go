package check

import (
	"regexp"
	"strings"
	"sync"
)

// habits returns the compiled table.
//
//nolint:gochecknoglobals // compiled once, never written
var habits = sync.OnceValue(func() []habit {
	var all []habit
	for line := range strings.Lines(habitTable) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		part := strings.Split(line, " ~ ")
		h := habit{pattern: regexp.MustCompile(part[0]), with: strings.ReplaceAll(part[1], `\n`, "\n"), words: part[2]}
		if len(part) > 3 {
			h.of = part[3]
		}
		all = append(all, h)
	}
	return all
})

// habitTable has, on each line: what is written (a regular expression), what to write, what to say and,
// where it explains one kind of error only, the code of the error. The first that fits counts.
const habitTable = `
^(\s*)/\*+\s?(.*?)\s*\*/\s*$ ~ $1// $2 ~ There are no block comments; begin each line with //.
^(\s*)(?:/\*+|\*/)\s?(.*)$ ~ $1// $2 ~ There are no block comments; begin each line with //. ~ pine_syntax
^(\s*)\* (.*)$ ~ $1// $2 ~ There are no block comments; begin each line with //. ~ pine_syntax
/\*+\s?(.*?)\s*\*/\s*$ ~ // $1 ~ There are no block comments; use //.
^(\s*)# (.*)$ ~ $1// $2 ~ A comment begins with //, as in C; # begins a colour.
^(\s*)-- (.*)$ ~ $1// $2 ~ A comment begins with //. ~ pine_syntax
\s&&\s ~ ${x} and  ~ Write "and", as in Python; there is no &&.
\s\|\|\s ~ ${x} or  ~ Write "or", as in Python; there is no ||.
&& ~ ${x} and  ~ Write "and", as in Python; there is no &&.
\|\| ~ ${x} or  ~ Write "or", as in Python; there is no ||.
\bAND\b ~ and ~ Write "and" in lower case.
\bOR\b ~ or ~ Write "or" in lower case.
\bNOT\b ~ not ~ Write "not" in lower case.
===  ~ ==  ~ Write == to compare; there is no ===.
!==  ~ !=  ~ Write != to compare; there is no !==.
<> ~ != ~ Write != to compare.
!([A-Za-z_(]) ~ not $1 ~ Write "not"; there is no !.
^(\s*)(\w+)\s*\+\+;?\s*$ ~ $1$2 += 1 ~ Write i += 1; there is no ++.
^(\s*)(\w+)\s*--;?\s*$ ~ $1$2 -= 1 ~ Write i -= 1; there is no --.
^(\s*)\+\+(\w+);?\s*$ ~ $1$2 += 1 ~ Write i += 1; there is no ++.
^(\s*)for\s*\(\s*(?:int|let|var)?\s*(\w+)\s*=\s*([^;]+);\s*\w+\s*<\s*([^;]+);[^)]*\)\s*\{?\s*$ ~ ${1}for $2 = $3 to $4 - 1 ~ Write for i = 0 to n - 1, with an indented block.
^(\s*)for\s*\(\s*(?:int|let|var)?\s*(\w+)\s*=\s*([^;]+);\s*\w+\s*<=\s*([^;]+);[^)]*\)\s*\{?\s*$ ~ ${1}for $2 = $3 to $4 ~ Write for i = 0 to n, with an indented block.
^(\s*)for\s+(\w+)\s+in\s+range\(\s*([^,()]+(?:\([^()]*\))?)\s*\)\s*:?\s*$ ~ ${1}for $2 = 0 to $3 - 1 ~ Write for i = 0 to n - 1; there is no range.
^(\s*)for\s+(\w+)\s+in\s+range\(\s*([^,()]+)\s*,\s*([^,()]+)\s*\)\s*:?\s*$ ~ ${1}for $2 = $3 to $4 - 1 ~ Write for i = a to b - 1; there is no range.
^(\s*)for\s*\(\s*(?:const|let|var)\s+(\w+)\s+of\s+(\w+)\s*\)\s*\{?\s*$ ~ ${1}for $2 in $3 ~ Write for x in array, with an indented block.
^(\s*)(\w+)\s+of\s+ ~ $1$2 in  ~ Write for x in array.
^(\s*)(?:def|function|fn|func)\s+(\w+)\s*\(([^)]*)\)\s*(?:->\s*\w+\s*)?[:{]?\s*$ ~ $1$2($3) => ~ Write f(x) => and an indented block; there is no def or function.
^(\s*)(?:const|let|var)\s+(\w+)\s*=\s*\(([^)]*)\)\s*=>\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; a function is no value.
^(\s*)(\w+)\s*=\s*\(([^)]*)\)\s*=>\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; a function is no value.
^(\s*)(\w+)\s*=\s*lambda\s+([^:]+):\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; there is no lambda.
^(\s*)return\s+(.*?);?\s*$ ~ $1$2 ~ A function gives its last value; there is no return.
^(\s*)(?:let|const)\s+(\w+)\s*=\s*(.*?);?\s*$ ~ $1$2 = $3 ~ Write x = value; there is no let.
^(\s*)double\s+(\w+)\s*= ~ ${1}float $2 = ~ The type of fractions is float.
^(\s*)(?:boolean|Boolean)\s+(\w+)\s*= ~ ${1}bool $2 = ~ The type is called bool.
^(\s*)(?:str|String)\s+(\w+)\s*= ~ ${1}string $2 = ~ The type is called string.
^(\s*)(?:integer|Int|long)\s+(\w+)\s*= ~ ${1}int $2 = ~ The type is called int.
^(\s*)(?:number|num|Float)\s+(\w+)\s*= ~ ${1}float $2 = ~ The type of fractions is float.
^(\s*)(\w+)\s*:\s*(int|float|bool|string|color)\s*=\s*(.*)$ ~ $1$3 $2 = $4 ~ The type stands before the name: float x = 1.
^(\s*)\}?\s*(?:elif|elseif|elsif)\b\s*(.*?)\s*[:{]?\s*$ ~ ${1}else if $2 ~ Write else if.
^(\s*)\}\s*else\s+if\b\s*(.*?)\s*[:{]?\s*$ ~ ${1}else if $2 ~ Blocks are made by indentation, without { and }.
^(\s*)\}?\s*else\s*[:{]\s*$ ~ ${1}else ~ Blocks are made by indentation, without { and }.
^(\s*)(if|while|else if|for)\b\s*(.*?)\s+then\s*$ ~ $1$2 $3 ~ There is no "then"; the block is indented.
^(\s*)(if|while|else if|for|switch)\b\s*(.*?)\s*[:{]\s*$ ~ $1$2 $3 ~ Blocks are made by indentation, without : or {.
^(\s*)(\w+\([^()]*\)\s*=>)\s*\{\s*$ ~ $1$2 ~ Blocks are made by indentation, without {.
^(\s*)\}\s*;?\s*$ ~ $1// ~ Remove it; blocks are made by indentation.
^(\s*)(?:end|endif|end if|fi|done|next)\s*$ ~ $1// ~ Remove it; a block ends where the indentation does.
^(\s*)pass\s*$ ~ ${1}na ~ There is no pass; a block without effect has the value na.
^(\s*)case\s+(.+?)\s*:\s*$ ~ $1$2 => ~ A case is written value => result.
^(\s*)case\s+(.+?)\s*:\s*(.+)$ ~ $1$2 => $3 ~ A case is written value => result.
^(\s*)default\s*:\s*(.*)$ ~ $1=> $2 ~ The default case is written => result.
;\s*$ ~ ${x} ~ Remove the semicolon; a statement ends with its line.
\b(?:None|null|undefined|nil|NaN|NULL)\b ~ na ~ The missing value is called na.
\bTrue\b ~ true ~ Write true in lower case.
\bFalse\b ~ false ~ Write false in lower case.
\bTRUE\b ~ true ~ Write true in lower case.
\bFALSE\b ~ false ~ Write false in lower case.
(\w+|\([^()]*\))\s*\*\*\s*(\w+(?:\.\d+)?) ~ math.pow($1, $2) ~ Write math.pow(a, b); there is no **.
(\w+)\s*\^\s*(\w+(?:\.\d+)?) ~ math.pow($1, $2) ~ Write math.pow(a, b); there is no ^.
^(\s*)(?:print|console\.log|printf|log)\((.*)\)\s*$ ~ ${1}log.info("{0}", $2) ~ Write log.info.
^(\s*)(\w+)\s*:=\s*:?=\s*(.*)$ ~ $1$2 := $3 ~ Write := to assign.
^(\s*)(\w+)\s*=\+\s*(.*)$ ~ $1$2 += $3 ~ Write += to add.
^(\s*if\s+[\w.()\[\]]+)\s=\s(.*)$ ~ $1 == $2 ~ Write == to compare.
\bf"([^"{}]*)\{(\w+)\}([^"{}]*)" ~ str.format("$1{0}$3", $2) ~ Write str.format; there are no strings with values inside.
\$\{(\w+)\} ~ {0} ~ Write str.format("{0}", value).
\bmath\.clamp\(([^,()]+(?:\([^()]*\))?),\s*([^,()]+),\s*([^,()]+)\) ~ math.max($2, math.min($3, $1)) ~ Write math.max(a, math.min(b, x)); there is no clamp.
\bmath\.mod\(([^,()]+),\s*([^,()]+)\) ~ ($1 % $2) ~ Write a % b; there is no math.mod.
\bmath\.(?:ln|loge)\( ~ math.log( ~ The natural logarithm is math.log.
\bmath\.power\( ~ math.pow( ~ Write math.pow.
\bmath\.(?:average|mean)\( ~ math.avg( ~ Write math.avg.
\bmath\.trunc\( ~ int( ~ Write int(x).
\bmath\.(sma|ema|rma|wma|rsi|atr|highest|lowest|stdev|change|cross|crossover|crossunder)\( ~ ta.$1( ~ Technical analysis is in ta.
\bta\.(abs|avg|round|ceil|floor|pow|sqrt|log|exp|sign|sum)\( ~ math.$1( ~ Mathematics is in math.
^(\s*)(\w+)\s*=\s*ta\.adx\(([^,()]+),\s*([^,()]+)\)\s*$ ~ $1[_, _, $2] = ta.dmi($3, $4) ~ ADX is the third value of ta.dmi.
^(\s*)(\w+)\s*=\s*ta\.adx\(([^,()]+)\)\s*$ ~ $1[_, _, $2] = ta.dmi($3, $3) ~ ADX is the third value of ta.dmi.
\bta\.adx\b ~ ta.dmi ~ ADX is the third value of ta.dmi: [plus, minus, adx] = ta.dmi(14, 14).
\bta\.(?:crossabove|cross_over|crossup|cross_above)\b ~ ta.crossover ~ Write ta.crossover.
\bta\.(?:crossbelow|cross_under|crossdown|cross_below)\b ~ ta.crossunder ~ Write ta.crossunder.
\bta\.(?:bbands|bollinger|bollinger_bands|bollingerBands)\b ~ ta.bb ~ Bollinger bands are ta.bb.
\bta\.(?:stddev|std|stdDev)\b ~ ta.stdev ~ The standard deviation is ta.stdev.
\bta\.(?:mean|average|ma|moving_average)\b ~ ta.sma ~ The moving average is ta.sma.
\bta\.(?:smma|wilder|wilders)\b ~ ta.rma ~ Wilder's average is ta.rma.
\bta\.(?:true_range|trueRange)\b ~ ta.tr ~ The true range is ta.tr.
\bta\.(?:psar|parabolic_sar)\b ~ ta.sar ~ The parabolic SAR is ta.sar.
\bta\.(?:williamsr|willr|williams_r)\b ~ ta.wpr ~ Williams %R is ta.wpr.
\bta\.(?:momentum)\b ~ ta.mom ~ Momentum is ta.mom.
\bta\.(?:max_?high)\b ~ ta.highest ~ Write ta.highest.
\bta\.(?:linear_?regression)\b ~ ta.linreg ~ Write ta.linreg.
\bta\.pivot_?(high|low)s?\b ~ ta.pivot$1 ~ Write ta.pivothigh or ta.pivotlow.
\bta\.stochrsi\(([^,()]+),\s*([^,()]+)\) ~ ta.stoch(ta.rsi($1, $2), ta.rsi($1, $2), ta.rsi($1, $2), $2) ~ The stochastic RSI is ta.stoch of ta.rsi.
^(\s*)strategy\.(?:buy|long_entry|enter_long)\(.*\)\s*$ ~ ${1}strategy.entry("Long", strategy.long) ~ Write strategy.entry("Long", strategy.long).
^(\s*)strategy\.(?:sell|short_entry|enter_short)\(.*\)\s*$ ~ ${1}strategy.entry("Short", strategy.short) ~ Write strategy.entry("Short", strategy.short), or strategy.close("Long").
\bstrategy\.position\b ~ strategy.position_size ~ Write strategy.position_size.
\bstrategy\.(?:close_position|exit_all)\(\s*\) ~ strategy.close_all() ~ Write strategy.close_all().
\bstrategy\.(?:entry_price|avg_price|position_price)\b ~ strategy.position_avg_price ~ Write strategy.position_avg_price.
\bcolor\.grey\b ~ color.gray ~ Write color.gray.
\bcolor\.cyan\b ~ color.aqua ~ Cyan is color.aqua.
\bcolor\.(?:magenta|pink)\b ~ color.fuchsia ~ Magenta is color.fuchsia.
\bcolor\.(?:gold|brown|amber)\b ~ color.orange ~ There is color.orange; others are written #rrggbb.
\bcolor\.(?:violet|indigo)\b ~ color.purple ~ There is color.purple; others are written #rrggbb.
\bcolor\.(?:light|dark)_?(blue|green|red|gray)\b ~ color.$1 ~ There are 17 colours with a name; others are written #rrggbb.
\bcolor\.rgba\( ~ color.rgb( ~ Write color.rgb(r, g, b, transparency).
\bstr\.concat\(([^,()]+),\s*([^,()]+)\) ~ $1 + $2 ~ Texts are joined with +.
\bstr\.len\( ~ str.length( ~ Write str.length.
\bstr\.(?:toString|to_string|string)\( ~ str.tostring( ~ Write str.tostring.
\bstr\.(?:to_number|tofloat|toint|parse)\( ~ str.tonumber( ~ Write str.tonumber.
\bstr\.(?:indexof|index|find)\( ~ str.pos( ~ Write str.pos.
\bstr\.(?:uppercase|toupper)\( ~ str.upper( ~ Write str.upper.
\bstr\.(?:lowercase|tolower)\( ~ str.lower( ~ Write str.lower.
\bstr\.(?:includes)\( ~ str.contains( ~ Write str.contains.
\binput\.integer\( ~ input.int( ~ Write input.int.
\binput\.(?:boolean|checkbox)\( ~ input.bool( ~ Write input.bool.
\binput\.(?:number|decimal|double)\( ~ input.float( ~ Write input.float.
\binput\.(?:text|str|select|dropdown)\( ~ input.string( ~ Write input.string.
\binput\.(?:resolution|tf)\( ~ input.timeframe( ~ Write input.timeframe.
\binput\.colour\( ~ input.color( ~ Write input.color.
\btimeframe\.(?:current|name|resolution)\b ~ timeframe.period ~ Write timeframe.period.
\bsyminfo\.(?:symbol|name)\b ~ syminfo.ticker ~ Write syminfo.ticker.
\bsyminfo\.(?:ticksize|tick_size|tick)\b ~ syminfo.mintick ~ Write syminfo.mintick.
\bbarstate\.(?:isclosed|isclose|closed|confirmed)\b ~ barstate.isconfirmed ~ Write barstate.isconfirmed.
\bbarstate\.(?:last|is_last)\b ~ barstate.islast ~ Write barstate.islast.
\bbarstate\.(?:first|is_first)\b ~ barstate.isfirst ~ Write barstate.isfirst.
\b(?:time\.now|timestamp\.now)\b(?:\(\))? ~ timenow ~ Write timenow.
\b(?:bar_count|bars_count|n_bars|barindex|bar\.index)\b ~ bar_index ~ Write bar_index.
\barray\.(?:length|len|count)\( ~ array.size( ~ Write array.size.
\barray\.(?:append|add)\( ~ array.push( ~ Write array.push.
\barray\.(?:mean|average)\( ~ array.avg( ~ Write array.avg.
\barray\.(?:delete|removeAt|remove_at)\( ~ array.remove( ~ Write array.remove.
\barray\.(?:contains|has)\( ~ array.includes( ~ Write array.includes.
\barray\.index_?of\( ~ array.indexof( ~ Write array.indexof.
\.(?:length|size|count)\b(?:\(\))? ~ .size() ~ The number of elements is array.size(). ~ of type array
\.append\( ~ .push( ~ Write push. ~ of type array
\blen\((\w+)\) ~ array.size($1) ~ Write array.size.
\b(open|high|low|close|volume)\((\d+)\) ~ $1[$2] ~ The value of a bar before is close[1].
\b(?:bar|candle)\.(open|high|low|close|volume)\b ~ $1 ~ Prices are variables of their own.
\bclose\.shift\((\d+)\) ~ close[$1] ~ The value of a bar before is close[1].
\b(\w+)\[-(\d+)\] ~ $1[$2] ~ An offset counts bars back: close[1] is the bar before. ~ pine_argument
\brequest\.(?:data|get|symbol|price|timeframe)\( ~ request.security( ~ Write request.security.
\balert\.condition\( ~ alertcondition( ~ Write alertcondition.
\b(?:alert_condition|alertCondition)\( ~ alertcondition( ~ Write alertcondition.
\b(?:plot_shape|plotShape)\( ~ plotshape( ~ Write plotshape.
\b(?:bg_?[cC]olor|background)\( ~ bgcolor( ~ Write bgcolor.
\bshape\.(triangle|arrow|label)_(up|down)\b ~ shape.$1$2 ~ Write shape.triangleup.
\blocation\.(?:above|above_bar)\b ~ location.abovebar ~ Write location.abovebar.
\blocation\.(?:below|below_bar)\b ~ location.belowbar ~ Write location.belowbar.
\bplot\.style_(?:dashed|dotted|solid)\b ~ plot.style_line ~ A plot has style_line, style_stepline, style_histogram, style_circles and others.
\bplot\.(line|histogram|area|columns|circles|stepline)\b ~ plot.style_$1 ~ Write plot.style_line.
\bline\.(dashed|dotted|solid)\b ~ line.style_$1 ~ Write line.style_dashed.
\blabel\.(up|down|left|right|center)\b ~ label.style_label_$1 ~ Write label.style_label_up.
\bsize\.(?:big)\b ~ size.large ~ Write size.large.
\b(?:min|max|abs|round|floor|ceil|pow|sqrt)\( ~ math.$0 ~ Mathematics is in math. ~ pine_name
\bstring\(([^()]+)\) ~ str.tostring($1) ~ Convert with str.tostring(). ~ pine_type
^(\s*)(?:(?:var|varip)\s+)?(?:(?:int|float|bool|string|color)\s+)?(\w+)\s*=\s*(.*)$ ~ $1$2 := $3 ~ Assign it with :=. ~ already declared
^(\s*)((?:var|varip)\s+)?(\w+)\s*=\s*na\b ~ $1${2}float $3 = na ~ Write the type before the name. ~ na has none
,\s*transp\s*=\s*[^,()]+ ~ ${x} ~ Remove it and use color.new(color, transp). ~ no argument "transp"
^(\s*)(.*),\s*when\s*=\s*([^,()]+)(.*)$ ~ ${1}if $3\n$1    $2$4 ~ Put the call into an if. ~ no argument "when"
\bta\.(?:ema|rma)\b ~ ta.sma ~ ta.ema and ta.rma need a length that does not change; ta.sma takes one that does, or write the recursion yourself: x := a * close + (1 - a) * nz(x[1]). ~ pine_qualifier
\bta\.atr\(([^()]+)\) ~ ta.sma(ta.tr, $1) ~ ta.atr needs a length that does not change; ta.sma(ta.tr, length) takes one that does. ~ pine_qualifier
^(\s*)alertcondition\(\s*([^,]+),\s*(?:title\s*=\s*)?(?:"[^"]*"|'[^']*'),\s*(?:message\s*=\s*)?(.*)\)\s*$ ~ ${1}if $2\n$1    alert($3) ~ The texts of alertcondition cannot change; alert() takes one that does. ~ pine_qualifier
^(\s*)(int)\s+(\w+\s*=.*)$ ~ ${1}float $3 ~ Declare it as float. ~ pine_type
^(\s*bool\s+\w+\s*=\s*)na\s*$ ~ ${1}false ~ In version 6 a bool is never na. ~ pine_type
`
