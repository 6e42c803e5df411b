package listing

import "strings"

// The common names of assets, a line for each: the code, the name, and after bars other
// names that people and other programs use. Names and codes are facts; none of these
// lists was taken from another program.
const (
	coins = `
BTC Bitcoin|XBT|XXBT
ETH Ethereum|Ether|XETH
SOL Solana
XRP XRP|Ripple
BNB BNB|Binance Coin
DOGE Dogecoin|XDG|XXDG
ADA Cardano
TRX TRON
AVAX Avalanche
LINK Chainlink
SUI Sui
LTC Litecoin
BCH Bitcoin Cash|BCHABC
DOT Polkadot
SHIB Shiba Inu
PEPE Pepe
TON Toncoin
XLM Stellar|Stellar Lumens
HBAR Hedera
UNI Uniswap
NEAR NEAR Protocol
APT Aptos
AAVE Aave
ETC Ethereum Classic
ICP Internet Computer
FIL Filecoin
ATOM Cosmos
ARB Arbitrum
OP Optimism
INJ Injective
SEI Sei
TIA Celestia
TAO Bittensor
FET Artificial Superintelligence Alliance|Fetch.ai
RENDER Render|RNDR
WLD Worldcoin
ENA Ethena
ONDO Ondo
POL Polygon|MATIC
S Sonic|Fantom|FTM
VET VeChain
ALGO Algorand
GRT The Graph
IMX Immutable
LDO Lido DAO
CRV Curve DAO
COMP Compound
SNX Synthetix
SUSHI SushiSwap
GALA Gala
SAND The Sandbox|Sandbox
MANA Decentraland
AXS Axie Infinity
CHZ Chiliz
ENJ Enjin
THETA Theta Network
EGLD MultiversX
FLOW Flow
NEO Neo
QTUM Qtum
IOTA IOTA|MIOTA
XTZ Tezos
XMR Monero
ZEC Zcash
DASH Dash
ZIL Zilliqa
BAT Basic Attention Token
YFI yearn.finance
RUNE THORChain
STX Stacks
JUP Jupiter
PYTH Pyth Network
WIF dogwifhat
BONK Bonk
FLOKI Floki
CAKE PancakeSwap
ENS Ethereum Name Service
APE ApeCoin
USDC USD Coin
USDT Tether
`
	companies = `
AAPL Apple
MSFT Microsoft
NVDA NVIDIA
GOOGL Alphabet|Google
GOOG Alphabet class C
AMZN Amazon
META Meta|Facebook|FB
TSLA Tesla
AVGO Broadcom
BRKB Berkshire Hathaway class B|Berkshire|Berkshire Hathaway
BRKA Berkshire Hathaway class A
LLY Eli Lilly|Lilly
JPM JPMorgan Chase|JPMorgan
V Visa
MA Mastercard
UNH UnitedHealth
XOM Exxon Mobil|Exxon
COST Costco
WMT Walmart
PG Procter & Gamble
HD Home Depot
JNJ Johnson & Johnson
ORCL Oracle
NFLX Netflix
ABBV AbbVie
BAC Bank of America
KO Coca-Cola|Coke
CRM Salesforce
CVX Chevron
AMD AMD|Advanced Micro Devices
PEP PepsiCo|Pepsi
TMO Thermo Fisher
CSCO Cisco
ADBE Adobe
LIN Linde
MCD McDonald's
ACN Accenture
ABT Abbott
WFC Wells Fargo
INTC Intel
IBM IBM
QCOM Qualcomm
TXN Texas Instruments
DIS Disney|Walt Disney
GE GE Aerospace|General Electric
GS Goldman Sachs
MS Morgan Stanley
CAT Caterpillar
VZ Verizon
T AT&T
PFE Pfizer
BA Boeing
NKE Nike
UPS UPS
F Ford
GM General Motors
C Citigroup|Citi
AXP American Express
BLK BlackRock
SCHW Charles Schwab
UBER Uber
ABNB Airbnb
PYPL PayPal
SHOP Shopify
SPOT Spotify
SNOW Snowflake
PLTR Palantir
CRWD CrowdStrike
PANW Palo Alto Networks
NOW ServiceNow
INTU Intuit
AMAT Applied Materials
MU Micron
LRCX Lam Research
ASML ASML
TSM TSMC|Taiwan Semiconductor
BABA Alibaba
JD JD.com
PDD PDD|Pinduoduo
NIO NIO
TM Toyota (New York)
SONY Sony
SAP SAP
NVO Novo Nordisk
AZN AstraZeneca
SHEL Shell
BP BP
TTE TotalEnergies
RIO Rio Tinto
BHP BHP
HSBC HSBC (New York)
UL Unilever (New York)
DEO Diageo
COIN Coinbase Global
HOOD Robinhood
MSTR Strategy|MicroStrategy
MARA MARA Holdings|Marathon Digital
RIOT Riot Platforms
GME GameStop
AMC AMC Entertainment
RBLX Roblox
U Unity
ROKU Roku
DKNG DraftKings
SOFI SoFi
RIVN Rivian
LCID Lucid
ARM Arm
SMCI Super Micro Computer|Supermicro
DELL Dell
HPQ HP
SBUX Starbucks
CMG Chipotle
LOW Lowe's
TGT Target
CVS CVS Health
MRK Merck
BMY Bristol-Myers Squibb
GILD Gilead
AMGN Amgen
MRNA Moderna
DE Deere|John Deere
HON Honeywell
LMT Lockheed Martin
RTX RTX|Raytheon
NOC Northrop Grumman
MMM 3M
DOW Dow Inc.
FCX Freeport-McMoRan
NEM Newmont
AA Alcoa
CCL Carnival
DAL Delta Air Lines
UAL United Airlines
AAL American Airlines
LUV Southwest Airlines
SIE Siemens
ALV Allianz
DTE Deutsche Telekom
BMW BMW
MBG Mercedes-Benz|Mercedes
VOW3 Volkswagen|VW
BAS BASF
BAYN Bayer
ADS Adidas
DBK Deutsche Bank
IFX Infineon
MC LVMH
OR L'Oreal
AIR Airbus
SAN Sanofi
BNP BNP Paribas
RMS Hermes
INGA ING
NESN Nestle
ROG Roche
NOVN Novartis
UBSG UBS
HSBA HSBC
VOD Vodafone
GSK GSK
BARC Barclays
LLOY Lloyds
ULVR Unilever
7203 Toyota
6758 Sony (Tokyo)
9984 SoftBank
7974 Nintendo
0700 Tencent
9988 Alibaba (Hong Kong)
3690 Meituan
1810 Xiaomi
RELIANCE Reliance Industries
TCS Tata Consultancy Services
INFY Infosys
HDFCBANK HDFC Bank
RY Royal Bank of Canada
TD Toronto-Dominion Bank
ENB Enbridge
CBA Commonwealth Bank
CSL CSL
`
	fundNames = `
SPY SPDR S&P 500 ETF|S&P 500|SP500|SPX|SPX500|US500
VOO Vanguard S&P 500 ETF
IVV iShares Core S&P 500 ETF
QQQ Invesco QQQ (Nasdaq 100)|Nasdaq|Nasdaq 100|US100|NAS100|USTEC
DIA SPDR Dow Jones ETF|Dow Jones|US30
IWM iShares Russell 2000 ETF|Russell 2000
VTI Vanguard Total Stock Market ETF
VT Vanguard Total World Stock ETF
VEA Vanguard Developed Markets ETF
VWO Vanguard Emerging Markets ETF
EFA iShares MSCI EAFE ETF
EEM iShares Emerging Markets ETF|Emerging markets
AGG iShares US Aggregate Bond ETF
BND Vanguard Total Bond Market ETF
TLT iShares 20+ Year Treasury ETF
IEF iShares 7-10 Year Treasury ETF
SHY iShares 1-3 Year Treasury ETF
HYG iShares High Yield Bond ETF
LQD iShares Investment Grade Bond ETF
TIP iShares TIPS Bond ETF
GLD SPDR Gold Shares|Gold
IAU iShares Gold Trust
SLV iShares Silver Trust|Silver
USO United States Oil Fund
UNG United States Natural Gas Fund
GDX VanEck Gold Miners ETF|Gold miners
XLF Financial Select Sector SPDR
XLE Energy Select Sector SPDR
XLK Technology Select Sector SPDR
XLV Health Care Select Sector SPDR
XLI Industrial Select Sector SPDR
XLY Consumer Discretionary Select Sector SPDR
XLP Consumer Staples Select Sector SPDR
XLU Utilities Select Sector SPDR
XLB Materials Select Sector SPDR
XLRE Real Estate Select Sector SPDR
SMH VanEck Semiconductor ETF|Semiconductors
SOXX iShares Semiconductor ETF
ARKK ARK Innovation ETF
VNQ Vanguard Real Estate ETF
SCHD Schwab US Dividend Equity ETF
VIG Vanguard Dividend Appreciation ETF
JEPI JPMorgan Equity Premium Income ETF
TQQQ ProShares UltraPro QQQ
SQQQ ProShares UltraPro Short QQQ
UVXY ProShares Ultra VIX Short-Term Futures ETF
IBIT iShares Bitcoin Trust|Bitcoin ETF
FBTC Fidelity Wise Origin Bitcoin Fund
GBTC Grayscale Bitcoin Trust
ETHA iShares Ethereum Trust|Ethereum ETF
FXI iShares China Large-Cap ETF
EWJ iShares MSCI Japan ETF
EWG iShares MSCI Germany ETF
EWU iShares MSCI United Kingdom ETF
EWZ iShares MSCI Brazil ETF
INDA iShares MSCI India ETF
`
	indexNames = `
SPX S&P 500|SP500|SPX500|US500|GSPC|S&P
NDX Nasdaq 100|US100|NAS100|USTEC
COMP Nasdaq Composite|Nasdaq|IXIC
DJI Dow Jones Industrial Average|Dow Jones|Dow|US30|DJIA
RUT Russell 2000|US2000
VIX Volatility index (VIX)|VIX|Volatility index
SOX PHLX Semiconductor Index
DXY US dollar index|Dollar index|Dollar|USDX
US10Y US 10-year yield|10y|10 year|10-year treasury|Treasury 10y|TNX
US30Y US 30-year yield|30y|TYX
US05Y US 5-year yield|5y|FVX
US03M US 13-week bill yield|3m bill|IRX
DAX DAX|DAX 40|GER40|DE40|GER30|GDAXI
CAC40 CAC 40|CAC|FRA40|FCHI
STOXX50 Euro Stoxx 50|EU50|EUSTX50
IBEX35 IBEX 35|IBEX|ESP35
AEX AEX
FTSE100 FTSE 100|FTSE|UK100
SMI Swiss Market Index|SMI|SSMI
NIKKEI225 Nikkei 225|Nikkei|JP225|N225
HSI Hang Seng|HK50
SSEC Shanghai Composite|Shanghai
NIFTY50 Nifty 50|Nifty|NSEI
SENSEX BSE Sensex|Sensex
KOSPI KOSPI
ASX200 ASX 200|AUS200
TSX S&P/TSX Composite
IBOVESPA Ibovespa|Bovespa
`
	futureNames = `
XAU Gold futures|Gold|XAUUSD|GC
XAG Silver futures|Silver|XAGUSD|SI
WTI Crude oil futures (WTI)|Oil|Crude oil|Crude|USOIL|WTI oil|CL
BRENT Brent crude oil futures|Brent|Brent oil|UKOIL|BZ
NATGAS Natural gas futures|Natural gas|Gas|NG
COPPER Copper futures|Copper|HG
PLATINUM Platinum futures|Platinum|XPTUSD|PL
PALLADIUM Palladium futures|Palladium|XPDUSD
CORN Corn futures|Corn|ZC
WHEAT Wheat futures|Wheat|ZW
SOYBEANS Soybean futures|Soybeans|ZS
COFFEE Coffee futures|Coffee|KC
SUGAR Sugar futures|Sugar|SB
COCOA Cocoa futures|Cocoa|CC
COTTON Cotton futures|Cotton
ES E-mini S&P 500 futures
NQ E-mini Nasdaq 100 futures
YM E-mini Dow futures
RTY E-mini Russell 2000 futures
ZN 10-year Treasury note futures
ZB 30-year Treasury bond futures
`
	currencyNames = `
EUR Euro|Euros
GBP British pound|Pound|Sterling|Pound sterling|Cable
JPY Japanese yen|Yen
USD US dollar
CHF Swiss franc|Franc
AUD Australian dollar|Aussie
CAD Canadian dollar|Loonie
NZD New Zealand dollar|Kiwi
CNY Chinese yuan|Yuan|Renminbi|CNH
INR Indian rupee|Rupee
MXN Mexican peso|Peso
BRL Brazilian real
KRW South Korean won|Won
SEK Swedish krona
NOK Norwegian krone
DKK Danish krone
PLN Polish zloty|Zloty
TRY Turkish lira|Lira
ZAR South African rand|Rand
SGD Singapore dollar
HKD Hong Kong dollar
THB Thai baht
HUF Hungarian forint
CZK Czech koruna
ILS Israeli shekel|Shekel
`
)

// asset is something with common names.
type asset struct {
	name  string
	other []string
}

// parseNames reads one of the lists above.
func parseNames(text string) map[string]asset {
	all := make(map[string]asset)
	for line := range strings.Lines(text) {
		code, names, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		first, others, _ := strings.Cut(names, "|")
		a := asset{name: first}
		if others != "" {
			a.other = strings.Split(others, "|")
		}
		all[code] = a
	}
	return all
}
