// 00 Tidy pictures
// Otherwise Browser adds every relationship between the nodes of a result, and each simple edge is drawn over its triples. Browser
// remembers it; the same switch is in its settings as "Connect result nodes".
:config autoComplete: false
