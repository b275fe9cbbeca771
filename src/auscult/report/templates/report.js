"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js", "ready");
  const get = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const list = get("cards"), status = get("status"), search = get("q"), sort = get("sort");
  const large = get("large"), help = get("help"), stage = get("stage");
  const ACTIONS = ["accept", "minor_revision", "major_revision", "reject", "undecided", "unjudged"];
  const cards = all(".card", list).map((node, order) => ({
    node, order,
    action: node.dataset.action, defect: node.dataset.defect,
    iou: Number(node.dataset.iou), width: Number(node.dataset.width), novelty: Number(node.dataset.novelty),
    good: Number(node.dataset.good),
    id: node.querySelector(".id").textContent,
    draw: drawn(node.querySelector(".id").textContent),
    words: all(".id, .text, .why", node).map((part) => part.textContent).join("\n").toLowerCase(),
  }));
  const ORDERS = {
    worst: (a, b) => a.order - b.order,
    best: (a, b) => b.order - a.order,
    low: (a, b) => a.iou - b.iou || a.order - b.order,
    likely: (a, b) => a.good - b.good || a.order - b.order,
    unsure: (a, b) => b.width - a.width || a.order - b.order,
    novel: (a, b) => b.novelty - a.novelty || a.order - b.order,
    random: (a, b) => a.draw - b.draw || a.order - b.order,
    id: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }),
  };
  const LABELS = ["good", "bad", "unsure"];
  const store = `auscult.marks.${list.dataset.record}`;
  const labels = new Map();
  let stored = true;
  const views = all(".view").map((node) => node.id);
  const state = { view: "items", action: new Set(), defect: new Set(), q: "", sort: "worst" };
  let visible = cards, current = -1, arranged = "worst";

  // A number that looks random and is the same at each visit (FNV-1a, with a final mix).
  function drawn(text) {
    let hash = 0x811c9dc5;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
    return (hash ^ (hash >>> 15)) >>> 0;
  }

  function loadLabels() {
    labels.clear();
    try {
      const found = JSON.parse(localStorage.getItem(store) || "{}");
      for (const [id, label] of Object.entries(found)) if (LABELS.includes(label)) labels.set(id, label);
    } catch {
      stored = false;
    }
  }

  function saveLabels() {
    try {
      if (labels.size) localStorage.setItem(store, JSON.stringify(Object.fromEntries(labels)));
      else localStorage.removeItem(store);
      stored = true;
    } catch {
      stored = false;
    }
  }

  function showLabels() {
    for (const card of cards) {
      const label = labels.get(card.id) || "";
      if ((card.node.dataset.label || "") === label) continue;
      card.node.dataset.label = label;
      card.node.querySelector(".label-said")?.remove();
      if (!label) continue;
      const said = document.createElement("span");
      said.className = "label-said";
      said.textContent = `marked ${label}`;
      card.node.querySelector(".head").append(said);
    }
    const now = current < 0 ? "" : labels.get(visible[current].id) || "";
    for (const button of all("[data-label]", large)) button.setAttribute("aria-pressed", String(button.dataset.label === now));
    const marked = get("marked");
    if (!marked) return;
    const counts = LABELS.map((name) => `${[...labels.values()].filter((label) => label === name).length} ${name}`);
    const lost = stored ? "" : " This browser keeps no marks for files: export them before you leave the page.";
    marked.textContent = labels.size ? `Marked: ${counts.join(", ")}.${lost}` : "";
    for (const id of ["export", "unmark"]) get(id).disabled = !labels.size;
  }

  function setLabel(label) {
    if (current < 0) return walk(0);
    const { id } = visible[current];
    const again = labels.get(id) === label;
    if (again) labels.delete(id);
    else labels.set(id, label);
    saveLabels();
    showLabels();
    if (!again) walk(current + 1);
    else if (large.open) fill();
  }

  function csvOf() {
    const cells = new Map(cards.map((card) => [card.id, card.node.dataset.cell || card.id]));
    const cell = (id) => {
      const safe = cells.get(id) ?? `'${id}`;  // a mark of a mask that the page listed before
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return ["id,label", ...[...labels].map(([id, label]) => `${cell(id)},${label}`), ""].join("\r\n");
  }

  function exportLabels() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf()], { type: "text/csv" }));
    link.download = "marks.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function matches(card, words) {
    return (!state.action.size || state.action.has(card.action))
      && (!state.defect.size || state.defect.has(card.defect))
      && words.every((word) => card.words.includes(word));
  }

  function arrange() {
    if (arranged === state.sort) return;
    cards.sort(ORDERS[state.sort]);
    list.append(...cards.map((card) => card.node));
    arranged = state.sort;
  }

  function pressed(selector, key, chosen) {
    for (const button of all(selector)) button.setAttribute("aria-pressed", String(chosen.has(button.dataset[key])));
  }

  function show() {
    arrange();
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = visible[current];
    visible = cards.filter((card) => {
      card.node.hidden = !matches(card, words);
      return !card.node.hidden;
    });
    mark(visible.indexOf(kept));
    status.textContent = visible.length === cards.length
      ? `${cards.length.toLocaleString("en")} shown`
      : `${visible.length.toLocaleString("en")} of ${cards.length.toLocaleString("en")} shown`;
    get("none").hidden = visible.length > 0 || cards.length === 0;
    pressed(".tally button", "action", state.action);
    pressed(".chips button", "defect", state.defect);
    pressed(".views button", "view", new Set([state.view]));
    for (const id of views) get(id).hidden = id !== state.view;
    if (search.value !== state.q) search.value = state.q;
    sort.value = state.sort;
  }

  function remember() {
    const hash = new URLSearchParams();
    if (state.view !== "items") hash.set("view", state.view);
    if (state.action.size) hash.set("action", [...state.action].join(","));
    if (state.defect.size) hash.set("defect", [...state.defect].join(","));
    if (state.q) hash.set("q", state.q);
    if (state.sort !== "worst") hash.set("sort", state.sort);
    history.replaceState(null, "", "#" + hash.toString());
  }

  function recall() {
    const text = location.hash.slice(1);
    const item = /^i\d+$/.test(text) ? get(text) : null;
    const hash = new URLSearchParams(item ? "" : text);
    const set = (key, allowed) => new Set((hash.get(key) || "").split(",").filter((name) => allowed(name)));
    state.view = views.includes(hash.get("view")) ? hash.get("view") : views.includes(text) ? text : "items";
    state.action = set("action", (name) => ACTIONS.includes(name));
    state.defect = set("defect", (name) => all(".chips button").some((button) => button.dataset.defect === name));
    state.q = hash.get("q") || "";
    state.sort = Object.hasOwn(ORDERS, hash.get("sort") || "") ? hash.get("sort") : "worst";
    show();
    if (item) walk(visible.findIndex((card) => card.node === item));
  }

  function change(edit) {
    edit();
    show();
    remember();
  }

  function toggle(chosen, name) {
    change(() => {
      if (!chosen.delete(name)) chosen.add(name);
      state.view = "items";
    });
  }

  function reset() {
    change(() => {
      state.action.clear();
      state.defect.clear();
      state.q = "";
    });
  }

  function mark(index) {
    for (const node of all(".current", list)) node.classList.remove("current");
    current = index;
    if (visible[index]) visible[index].node.classList.add("current");
  }

  function walk(index) {
    if (!visible.length) return;
    const target = Math.max(0, Math.min(visible.length - 1, index));
    mark(target);
    const node = visible[target].node;
    if (large.open) fill();
    else node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest" });
  }

  function fill() {
    const source = visible[current].node;
    const parts = [".picture", ".words"].map((part) => source.querySelector(part).cloneNode(true));
    for (const details of all("details", parts[1])) details.open = true;
    for (const picture of all("img", parts[0])) picture.loading = "eager";
    stage.replaceChildren(...parts);
    get("place").textContent = `${current + 1} of ${visible.length}`;
    get("previous").disabled = current === 0;
    get("next").disabled = current === visible.length - 1;
    showLabels();
  }

  function enlarge() {
    if (current < 0) walk(0);
    if (current < 0) return;
    fill();
    if (!large.open) large.showModal();
  }

  function typing(target) {
    return target.closest("input, select, textarea") !== null;
  }

  const KEYS = {
    j: () => walk(current + 1), ArrowRight: () => walk(current + 1),
    k: () => walk(current - 1), ArrowLeft: () => walk(current - 1),
    "/": () => { change(() => { state.view = "items"; }); search.focus(); search.select(); },
    "?": () => help.showModal(),
    g: () => setLabel("good"), b: () => setLabel("bad"), u: () => setLabel("unsure"),
    0: reset,
    1: () => toggle(state.action, "accept"), 2: () => toggle(state.action, "minor_revision"),
    3: () => toggle(state.action, "major_revision"), 4: () => toggle(state.action, "reject"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const within = ["j", "k", "ArrowRight", "ArrowLeft", "g", "b", "u"].includes(event.key);
    if (large.open && !within) return;
    const opens = event.key === "Enter" || event.key === " ";
    if (opens && current >= 0 && event.target.closest("button, summary, a") === null) {
      event.preventDefault();
      enlarge();
    } else if (Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });

  list.addEventListener("click", (event) => {
    const node = event.target.closest(".card");
    if (!node || event.target.closest("details")) return;
    mark(visible.findIndex((card) => card.node === node));
    if (event.target.closest(".picture")) enlarge();
  });
  for (const button of all(".tally button")) button.addEventListener("click", () => toggle(state.action, button.dataset.action));
  for (const button of all(".chips button")) button.addEventListener("click", () => toggle(state.defect, button.dataset.defect));
  for (const button of all(".views button")) button.addEventListener("click", () => change(() => { state.view = button.dataset.view; }));
  for (const button of all("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  for (const dialog of [large, help]) dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  large.addEventListener("close", () => { if (visible[current]) visible[current].node.focus({ preventScroll: true }); });
  get("previous").addEventListener("click", () => walk(current - 1));
  get("next").addEventListener("click", () => walk(current + 1));
  get("clear").addEventListener("click", reset);
  for (const button of all("[data-label]", large)) button.addEventListener("click", () => setLabel(button.dataset.label));
  get("export")?.addEventListener("click", exportLabels);
  get("unmark")?.addEventListener("click", () => {
    if (!window.confirm(`Remove all ${labels.size} marks of this report?`)) return;
    labels.clear();
    saveLabels();
    showLabels();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== store) return;
    loadLabels();
    showLabels();
  });
  get("controls").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => change(() => { state.q = search.value.trim(); }));
  sort.addEventListener("change", () => change(() => { state.sort = sort.value; }));
  window.addEventListener("hashchange", recall);
  loadLabels();
  recall();
  showLabels();
})();
