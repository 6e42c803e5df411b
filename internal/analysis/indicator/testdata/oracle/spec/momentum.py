"""Momentum oscillators."""

import talib

from lib.oracles import Oracle, Spec, ti

SPECS = {
    "momentum": Spec(
        variants=[{"length": 10}, {"length": 21, "source": "hl2"}],
        oracles={
            "talib": Oracle(lambda b, p: {"Mom": talib.MOM(b.source(p.get("source", "close")), p["length"])}),
            "tulip": Oracle(lambda b, p: {"Mom": ti("mom", [b.source(p.get("source", "close"))], p["length"])[0]}),
        },
    ),
}
