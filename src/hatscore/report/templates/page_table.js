"use strict";
// Tables: numbers as the other outputs write them, rows on demand, sorting by click and keyboard.
const hatscore = {};

// rows that a table has at most on paper
hatscore.onPaper = 400;

hatscore.number = (value) => {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1e9) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(3);
  return text === "-0.000" ? "0.000" : text.replace("-", "−");
};

hatscore.interval = (row, key) => {
  if (!(`${key}_low` in row) || row[key] === null) return "";
  const low = row[`${key}_low`], high = row[`${key}_high`];
  const open = key === "hat";
  if (low === null && !(open && row.low_open)) return "";
  if (high === null && !(open && row.high_open)) return "";
  return `[${low === null ? "−∞" : hatscore.number(low)}, ${high === null ? "∞" : hatscore.number(high)}]`;
};

hatscore.said = (row) => `${row.estimator === "plugin" ? "plug-in HAT" : "HAT"} ${hatscore.number(row.hat)} ${hatscore.interval(row, "hat")}`.trim();

hatscore.grouped = (n) => n.toLocaleString("en-US");

hatscore.unpack = (packed) => {
  const names = Object.keys(packed.columns);
  const lists = names.map((name) => {
    const held = packed.columns[name];
    if (Array.isArray(held)) return held;
    if ("all" in held) return null;
    return held.codes.map((code) => held.levels[code]);
  });
  return Array.from({ length: packed.n }, (_, i) => {
    const row = {};
    names.forEach((name, j) => {
      row[name] = lists[j] === null ? packed.columns[name].all : lists[j][i];
    });
    return row;
  });
};

hatscore.element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  // strings become text nodes: nothing that a model is called or says is ever read as markup
  made.append(...children);
  return made;
};

hatscore.written = (row, column) => {
  const value = row[column.key];
  switch (column.kind) {
    case "text":
      return value === null || value === undefined ? "–" : String(value);
    case "words":
      return value === null || value === undefined ? "" : String(value);
    case "share":
      return value === null ? "–" : `${(100 * value).toFixed(1)} %`;
    case "count":
      return value === null ? "–" : hatscore.grouped(value);
    case "mean":
      return value === null ? "–" : value.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    default:
      return hatscore.number(value);
  }
};

hatscore.collator = new Intl.Collator("en", { numeric: true });

// Missing values come last whichever way the column is sorted.
hatscore.compare = (a, b, direction) => {
  const none = (x) => x === null || x === undefined || x === "";
  if (none(a) || none(b)) return none(a) - none(b);
  const order = typeof a === "number" && typeof b === "number" ? a - b : hatscore.collator.compare(String(a), String(b));
  return direction === "ascending" ? order : -order;
};

// Headers become buttons; `act(key, direction)` sorts, the state is told by aria-sort.
hatscore.sortable = (table, act) => {
  const heads = [...table.tHead.rows[0].cells];
  const show = (key, direction) => {
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    }
  };
  for (const head of heads) {
    const button = hatscore.element("button", { type: "button" });
    button.append(...head.childNodes);
    head.append(button);
    const text = head.classList.contains("text") || head.classList.contains("words");
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const first = text ? "ascending" : "descending";
      const direction = now === null ? first : now === "ascending" ? "descending" : "ascending";
      show(head.dataset.key, direction);
      act(head.dataset.key, direction);
    });
  }
  return show;
};

// A table whose rows are all in the page: rows move.
hatscore.sortInPlace = (table) => {
  hatscore.sortable(table, (key, direction) => {
    const place = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.key === key);
    const value = (row) => {
      const cell = row.cells[place];
      if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
      const text = cell.textContent.trim();
      return text === "–" ? null : text;
    };
    const apart = (row) => Number(row.cells[place].dataset.apart !== undefined);
    const rows = [...table.tBodies[0].rows];
    const none = (row) => Number(value(row) === null);
    rows.sort((a, b) => none(a) - none(b) || apart(a) - apart(b) || hatscore.compare(value(a), value(b), direction));
    table.tBodies[0].append(...rows);
  });
};

// A table drawn from records: the filtered ones, in order, the first `page` until asked for more.
hatscore.recordTable = (table, columns, options = {}) => {
  const page = options.page ?? 60;
  const state = { rows: [], key: null, direction: null, all: false, paper: false };
  const below = hatscore.element("div", { class: "below" });
  const said = hatscore.element("span");
  const more = hatscore.element("button", { type: "button", class: "small" });
  below.append(said, more);
  table.parentElement.after(below);
  below.nextElementSibling?.classList.contains("left-out") && below.nextElementSibling.remove();

  const apart = (row) => Boolean(options.mixed) && row.estimator === "plugin";
  const cell = (row, column, first) => {
    const made = hatscore.element(first ? "th" : "td", first ? { scope: "row" } : { class: column.kind });
    if (column.kind === "text" && String(row[column.key]).length > 28) made.classList.add("long");
    const value = row[column.key];
    if (column.kind === "share" && value === 0) made.classList.add("zero");
    const main = column.kind === "main";
    if (main) {
      for (const name of ["model", "benchmark", "language"]) made.dataset[name] = row[name];
    }
    const text = hatscore.written(row, column) + (main && apart(row) ? "†" : "");
    const parts = [text];
    const interval = column.kind === "score" || main ? hatscore.interval(row, column.key) : "";
    if (interval) parts.push(" ", hatscore.element("span", { class: "ci" }, interval));
    if (main ? hatscore.behind(row) : first && options.opens?.(row)) {
      parts[0] = hatscore.element("span", { class: "value" }, text);
      made.append(hatscore.cellButton(row, parts));
    } else {
      made.append(...parts);
    }
    return made;
  };
  // plug-in slopes come after corrected ones, whichever way these are sorted
  const kind = (row) => (state.key !== "hat" ? 0 : row.hat === null ? 2 : Number(apart(row)));
  const draw = () => {
    const sorted = state.key === null ? state.rows : [...state.rows].sort((a, b) =>
      kind(a) - kind(b) || hatscore.compare(a[state.key], b[state.key], state.direction));
    const shown = state.all || state.paper && sorted.length <= hatscore.onPaper ? sorted : sorted.slice(0, page);
    const body = document.createDocumentFragment();
    for (const row of shown) {
      const line = hatscore.element("tr");
      columns.forEach((column, i) => line.append(cell(row, column, i === 0)));
      body.append(line);
    }
    table.tBodies[0].replaceChildren(body);
    const some = shown.length < sorted.length;
    said.textContent = some ? `The first ${hatscore.grouped(shown.length)} of ${hatscore.grouped(sorted.length)} rows.` : "";
    more.hidden = !some;
    more.textContent = `Show all ${hatscore.grouped(sorted.length)}`;
    below.hidden = !some;
    hatscore.edges();
  };
  more.addEventListener("click", () => { state.all = true; draw(); });
  const show = hatscore.sortable(table, (key, direction) => {
    Object.assign(state, { key, direction });
    draw();
    options.sorted?.(key, direction);
  });
  return {
    fill(rows) { state.rows = rows; draw(); },
    sort(key, direction) {
      if (!columns.some((c) => c.key === key)) return;
      Object.assign(state, { key, direction });
      show(key, direction);
      draw();
    },
    clear() { Object.assign(state, { key: null, direction: null }); show("", ""); draw(); },
    paper(printing) { state.paper = printing; draw(); },
  };
};

hatscore.cellButton = (row, parts) => {
  const button = hatscore.element("button", {
    type: "button",
    class: "cell",
    "data-model": row.model,
    "data-benchmark": row.benchmark,
    "data-language": row.language,
    title: hatscore.behind(row) === "items" ? "Show the questions and replies behind this" : "Show the profile behind this score",
  });
  button.append(...parts);
  button.addEventListener("click", () => hatscore.activate(row));
  return button;
};

// What lies behind a cell, with a score or without one: its items where the page has them, else its
// profile.
hatscore.hasItems = (row) => hatscore.items?.has(row.model, row.benchmark, row.language) ?? false;
hatscore.behind = (row) => (row.macro ? null : hatscore.hasItems(row) ? "items" : hatscore.hasProfile(row) ? "profile" : null);
hatscore.activate = (row) => {
  if (hatscore.behind(row) === "items") hatscore.openCell(row.model, row.benchmark, row.language);
  else hatscore.showProfile(row.model, row.benchmark, row.language);
};

// What scrolls sideways fades at the side where there is more.
hatscore.edges = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    const more = box.scrollWidth - box.clientWidth - box.scrollLeft > 2;
    box.classList.toggle("more-right", more);
    if (box.dataset.watched === undefined) {
      box.dataset.watched = "";
      box.addEventListener("scroll", hatscore.edges, { passive: true });
    }
  }
};
