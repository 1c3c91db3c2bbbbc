// Draws the list of things and statements as a picture, and keeps the two in step. The list has all the data; neighbours come as a list, too.

const LARGE = 200; // edges from which curves and arrows cost too much
const LETTER = 0.8125 * parseFloat(getComputedStyle(document.documentElement).fontSize); // pixels of a name, at any zoom
const LABEL = 11 * LETTER; // longest name in pixels
const HUB = 4; // things with more statements always show their names
const STEPS = 120_000; // of the layout, shared by all nodes
const list = document.querySelector(".things");
const stage = document.querySelector(".stage");

const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
const things = (root) => [...root.querySelectorAll(".thing")];
const nodeOf = ({ dataset }) => ({ data: { id: dataset.id, name: dataset.name, kind: dataset.kind, community: dataset.community, halign: "center", valign: "bottom" } });
const edgeOf = (item) => {
  const { edge, from, to, confidence, source } = item.dataset;
  const [statement, facts, mark] = [...item.children].map((one) => one.textContent);
  return {
    data: { id: edge, source: from, target: to, confidence: Number(confidence), from: source, statement, text: `${statement} (${facts}${mark ? `, ${mark}` : ""})` },
    classes: item.className,
  };
};

const boxOf = (node, right, down, wide, high) => {
  const { x, y } = node.renderedPosition();
  return { node, left: x + right - wide / 2, right: x + right + wide / 2, top: y + down - high / 2, bottom: y + down + high / 2 };
};
const isApart = (one, other) => one.node === other.node || one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;

const draw = () => {
  let colours = {};
  const colour = (name) => colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const legend = stage.querySelector(".legend");
  const hint = stage.querySelector(".hint");
  const names = document.querySelector("#names");
  const seen = new Set();
  const elements = (root) => {
    const all = [...things(root).map(nodeOf), ...[...root.querySelectorAll("[data-from]")].map(edgeOf)];
    return all.filter(({ data }) => !seen.has(data.id) && seen.add(data.id));
  };
  let groups = [];
  const colourOf = (node) => {
    const at = groups.indexOf(node.data("community"));
    return colour(at >= 8 ? "line" : at < 0 && groups.length ? "quiet" : `c${Math.max(at, 0)}`);
  };
  const sizeOf = (node) => (12 + Math.min(24, 3 * node.degree())) * (isLarge ? 1 : Math.min(1.6, Math.max(1, scale)));
  const style = () => [
    { selector: "node", style: {
      width: sizeOf, height: sizeOf, "background-color": colourOf,
      label: "data(name)", color: colour("ink"), "font-size": LETTER * scale, "font-family": "system-ui, sans-serif",
      "text-wrap": "ellipsis", "text-max-width": LABEL * scale, "text-outline-color": colour("card"), "text-outline-width": 2 * scale, "text-halign": "data(halign)", "text-valign": "data(valign)",
      "text-margin-x": (node) => ({ left: -3, right: 3 })[node.data("halign")] * scale || 0, "text-margin-y": (node) => node.data("valign") === "bottom" ? 2 * scale : 0,
    } },
    { selector: "edge", style: {
      width: (edge) => (0.5 + 2.5 * edge.data("confidence")) * Math.min(1.5, scale), "line-color": colour("edge"), "target-arrow-color": colour("edge"),
      "curve-style": isLarge ? "haystack" : "bezier", "target-arrow-shape": isLarge ? "none" : "triangle", "arrow-scale": 0.8, "overlay-padding": 4,
    } },
    { selector: ".contradicted", style: { "line-color": colour("bad"), "target-arrow-color": colour("bad") } },
    { selector: ".wrong", style: { "line-color": colour("bad"), "target-arrow-color": colour("bad"), "line-style": "dashed", opacity: 0.6 } },
    { selector: ".faded", style: { opacity: 0.15, "text-opacity": 0 } },
    { selector: ".nameless", style: { "text-opacity": 0 } },
    { selector: ".out", style: { display: "none" } },
    { selector: "node:selected", style: { "border-width": 3, "border-color": colour("ink"), "z-index": 9, "text-opacity": 1, "text-max-width": 3 * LABEL * scale,
      "text-background-color": colour("card"), "text-background-opacity": 0.9, "text-background-padding": 2 } },
    { selector: "edge:selected", style: { "line-color": colour("accent"), "target-arrow-color": colour("accent") } },
  ];
  let scale = 1;
  const paint = () => {
    colours = {};
    groups = [...legend.querySelectorAll("[data-community]")].map((one, at) => {
      one.querySelector(".dot").style.background = colour(at < 8 ? `c${at}` : "line");
      return one.dataset.community;
    });
    cy.style(style());
  };

  const first = elements(list);
  const isLarge = first.filter(({ data }) => data.source).length > LARGE;
  stage.hidden = false;
  // With an element of this id, cytoscape adds no style of its own, which the policy of the page would refuse.
  document.head.append(Object.assign(document.createElement("meta"), { id: "__________cytoscape_stylesheet" }));
  const size = first.length;
  const cy = globalThis.cytoscape({
    container: document.querySelector("#picture"), elements: first, style: style(), minZoom: 0.05, maxZoom: 4, selectionType: "single",
    boxSelectionEnabled: false,
    layout: { name: "cose", animate: false, randomize: true, fit: false, numIter: Math.min(1000, Math.ceil(STEPS / size)),
      idealEdgeLength: () => 50, nodeRepulsion: () => isLarge ? 60_000 : 5000, gravity: 1, componentSpacing: 40 },
  });
  cy.fit(cy.nodes(), 48);
  // Names keep their size. A name that finds no free place next to its thing is left out; things with more statements come first.
  const label = () => {
    scale = 1 / cy.zoom();
    cy.style(style());
    const nodes = cy.nodes().not(".out").toArray();
    const taken = [{ left: cy.width() - 56, right: cy.width(), top: 0, bottom: 140 }, ...nodes.map((node) => boxOf(node, 0, 0, node.renderedWidth(), node.renderedHeight()))];
    cy.batch(() => {
      for (const node of nodes.sort((a, b) => a.hasClass("faded") - b.hasClass("faded") || b.degree() - a.degree())) {
        const [wide, high] = [Math.min(LABEL, node.data("name").length * LETTER * 0.58) + 8, LETTER * 1.2];
        const [right, down] = [(node.renderedWidth() + wide) / 2, (node.renderedHeight() + high) / 2];
        const sides = [["center", "bottom", 0, down], ["center", "top", 0, -down], ["right", "center", right, 0], ["left", "center", -right, 0]];
        const found = sides.map(([halign, valign, x, y]) => ({ halign, valign, box: boxOf(node, x, y, wide, high) }))
          .find(({ box }, at) => box.left > 0 && box.right < cy.width() && box.top > 0 && box.bottom < cy.height() && (taken.every((one) => isApart(one, box)) || (!at && node.degree() > HUB)));
        node.data({ halign: found?.halign ?? "center", valign: found?.valign ?? "bottom" }).toggleClass("nameless", !found);
        if (found) taken.push(found.box);
      }
    });
  };
  let waiting = 0;
  cy.on("zoom free resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(label, 120);
  });
  paint();
  label();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  const entry = (id) => things(list).find((one) => one.dataset.id === id);
  let chosen = "";
  const fade = (kept) => cy.batch(() => {
    cy.elements().removeClass("faded");
    if (kept) cy.elements().difference(kept).addClass("faded");
  });
  const isInView = (found) => {
    const [all, box] = [cy.extent(), found.boundingBox()];
    return box.x1 >= all.x1 && box.x2 <= all.x2 && box.y1 >= all.y1 && box.y2 <= all.y2;
  };
  const show = (found) => { if (!isInView(found)) cy.animate({ center: { eles: found }, duration: 200 }); };
  const choose = (id, { isFromList = false } = {}) => {
    if (id === chosen) return;
    chosen = id;
    const found = cy.getElementById(id);
    cy.elements().unselect();
    fade(id && (found.isNode() ? found.closedNeighborhood() : found.union(found.connectedNodes())));
    found.select();
    label();
    const open = entry(found.isEdge?.() ? found.source().id() : id);
    for (const one of things(list)) one.open = one === open;
    for (const one of list.querySelectorAll("[data-edge]")) one.classList.toggle("chosen", one.dataset.edge === id);
    if (isFromList) show(found);
    else if (open) list.scrollTo({ top: open.offsetTop - list.offsetTop - 8, behavior: "smooth" });
    const one = document.querySelector("#one");
    if (one && found.isNode?.()) one.value = found.data("name");
  };
  const describe = (target) => {
    const edges = target.isEdge() ? target.parallelEdges() : target.connectedEdges();
    const texts = edges.map((edge) => edge.data(target.isNode() ? "statement" : "text"));
    const lines = [...(target.isNode() ? [[target.data("name"), target.data("kind")].filter(Boolean).join(", ")] : []), ...texts.slice(0, 4)];
    if (texts.length > 4) lines.push(`and ${texts.length - 4} more`);
    hint.replaceChildren(...lines.map((text) => Object.assign(document.createElement("p"), { textContent: text })));
  };
  cy.on("mouseover", "node, edge", ({ target }) => describe(target));
  cy.on("mouseout", "node, edge", () => hint.replaceChildren());
  cy.on("tap", ({ target }) => {
    choose(target === cy ? "" : target.id());
    target === cy ? hint.replaceChildren() : describe(target);
  });
  list.addEventListener("toggle", ({ target }) => {
    if (target.open) choose(target.dataset.id, { isFromList: true });
    else if (target.dataset.id === chosen) choose("");
  }, true);
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[data-edge]");
    const more = event.target.closest("[data-expand]");
    if (item) choose(item.dataset.edge, { isFromList: true });
    if (!more) return;
    event.preventDefault();
    expand(more);
  });

  const expand = async (link) => {
    const id = link.closest(".thing").dataset.id;
    const response = await fetch(link.href).catch(() => null);
    if (!response?.ok) { hint.textContent = "The service does not answer."; return; }
    // Rendered and escaped by our own server.
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = elements(page);
    for (const group of page.querySelectorAll("[data-community]")) {
      if (group.closest(".legend") && ![...legend.children].some((one) => one.dataset.community === group.dataset.community)) legend.prepend(group);
    }
    for (const one of things(page)) {
      const own = entry(one.dataset.id);
      if (!own) { list.append(one); names.append(Object.assign(document.createElement("option"), { value: one.dataset.name })); continue; }
      const known = new Set([...own.querySelectorAll("[data-edge]")].map((item) => item.dataset.edge));
      own.querySelector("ul").append(...[...one.querySelectorAll("[data-edge]")].filter((item) => !known.has(item.dataset.edge)));
    }
    const around = cy.getElementById(id).position();
    const nodes = fresh.filter(({ data }) => !data.source);
    nodes.forEach((node, at) => {
      const angle = 2 * Math.PI * at / nodes.length;
      node.position = { x: around.x + 130 * Math.cos(angle), y: around.y + 130 * Math.sin(angle) };
    });
    cy.add(fresh);
    link.remove();
    paint();
    filter();
    chosen = "";
    choose(id, { isFromList: true });
    const neighbours = cy.getElementById(id).closedNeighborhood();
    if (!isInView(neighbours)) { cy.stop(true); cy.animate({ fit: { eles: neighbours, padding: 48 }, duration: 200 }); }
    hint.textContent = fresh.length ? `${count(nodes.length, "more thing")}, ${count(fresh.length - nodes.length, "more statement")}` : "No other source mentions it.";
  };

  const filters = stage.querySelector(".filters");
  const value = (name) => filters.querySelector(`#${name}`)?.value ?? "";
  const filter = () => {
    hint.replaceChildren();
    const [least, kind, source, text] = [Number(value("confidence")), value("kind"), value("source"), value("name").trim().toLowerCase()];
    filters.querySelector("output").value = least.toFixed(2);
    cy.batch(() => {
      cy.elements().removeClass("out");
      cy.nodes().filter((node) => kind && node.data("kind") !== kind).connectedEdges().filter((edge) => edge.connectedNodes().every((node) => node.data("kind") !== kind)).addClass("out");
      cy.edges().filter((edge) => edge.data("confidence") < least || (source && edge.data("from") !== source)).addClass("out");
      cy.nodes().filter((node) => node.connectedEdges().every((edge) => edge.hasClass("out")) && (node.degree() > 0 || (kind && node.data("kind") !== kind))).addClass("out");
    });
    for (const item of list.querySelectorAll("[data-edge]")) item.hidden = cy.getElementById(item.dataset.edge).hasClass("out");
    const hits = new Set();
    for (const one of things(list)) {
      const isHit = !text || one.dataset.name.toLowerCase().includes(text);
      one.hidden = !isHit || cy.getElementById(one.dataset.id).hasClass("out");
      if (isHit) hits.add(one.dataset.id);
    }
    fade(text ? cy.nodes().filter((node) => hits.has(node.id())) : null);
    label();
    const exact = text && things(list).find((one) => one.dataset.name.toLowerCase() === text);
    if (exact) choose(exact.dataset.id, { isFromList: true });
  };
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = things(list).find((one) => !one.hidden);
    if (found) choose(found.dataset.id, { isFromList: true });
  });
  stage.addEventListener("click", ({ target }) => {
    const factor = target.closest("[data-zoom]")?.dataset.zoom;
    if (factor === "0") cy.animate({ fit: { eles: cy.nodes(), padding: 48 }, duration: 200 });
    else if (factor) cy.zoom({ level: cy.zoom() * Number(factor), renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  });
  stage.cy = cy;
};

if (list && stage && globalThis.cytoscape) draw();
