// The page itself: data in, controls on, everything follows the filters.
hatscore.start = () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const rows = hatscore.unpack(data.scores);
  const statuses = hatscore.unpack(data.statuses);
  data.ranks = hatscore.unpack(data.ranks);
  data.profiles = hatscore.unpack(data.profiles);
  hatscore.data = data;
  hatscore.rows = rows;
  const profiled = new Set(data.profiles.filter((row) => row.n).map((row) => JSON.stringify([row.model, row.benchmark, row.language])));
  hatscore.hasProfile = (row) => profiled.has(JSON.stringify([row.model, row.benchmark, row.language]));

  for (const part of document.querySelectorAll(".script")) part.hidden = false;
  // where nothing was lost there is nothing to draw
  if (!data.statuses_named.length) document.querySelector('figure[data-chart="status"]').remove();
  if (!data.profiles.length) document.getElementById("profiles").closest("section").remove();
  document.getElementById("filters").hidden = document.querySelector(".pick") === null;

  const rest = {};
  let section = "";
  const remember = (filters) => hatscore.address.write(section, filters.state(), rest);

  // Theme: that of the system, or the one that was chosen.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  theme.hidden = false;
  const themed = () => {
    root.dataset.shown = (root.dataset.theme ?? (system.matches ? "dark" : "light"));
    theme.textContent = `Theme: ${root.dataset.theme ?? "system"}`;
  };

  // Names of languages: English ones, or those of the languages themselves. A browser takes letters
  // from any font of the device, so that all are offered; charts that are files check their font.
  const names = document.getElementById("names");
  const labelled = [rows, statuses, data.profiles].flat();
  for (const row of labelled) row.english_label = row.label;
  names.hidden = labelled.every((row) => row.native_label === row.label);
  const rename = () => {
    const native = rest.names === "native";
    names.setAttribute("aria-pressed", String(native));
    for (const row of labelled) row.label = native ? row.native_label : row.english_label;
    const labels = new Map(rows.map((row) => [row.language, row.label]));
    for (const box of document.querySelectorAll('.pick input[name="language"]')) {
      box.nextElementSibling.textContent = labels.get(box.value) ?? box.value;
    }
    for (const cell of document.querySelectorAll("table.heat [data-language]")) {
      if (cell.tagName === "TH") cell.title = labels.get(cell.dataset.language);
    }
    for (const [cell, row] of titled) {
      cell.title = `${row.model}, ${row.label}: ${row.hat === null ? row.reason || "no score" : hatscore.said(row)}`;
    }
  };

  // Heat maps.
  const titled = [];
  const heats = [...document.querySelectorAll("table.heat")].map((table) => ({
    table,
    codes: [...table.tHead.rows[0].cells].map((cell) => cell.dataset.language ?? null),
    benchmark: table.closest("[data-benchmark]").dataset.benchmark,
  }));
  const at = new Map(rows.map((row) => [JSON.stringify([row.model, row.benchmark, row.language]), row]));
  for (const { table, codes, benchmark } of heats) {
    for (const line of table.tBodies[0].rows) {
      [...line.cells].forEach((cell, i) => {
        if (!codes[i]) return;
        Object.assign(cell.dataset, { model: line.dataset.model, benchmark, language: codes[i] });
        const row = at.get(JSON.stringify([line.dataset.model, benchmark, codes[i]]));
        if (!row) return;
        titled.push([cell, row]);
        if (hatscore.behind(row)) {
          const text = cell.textContent;
          const button = hatscore.cellButton(row, [text]);
          button.setAttribute("aria-label", `${row.model}, ${row.english}: ${row.hat === null ? "no score" : `HAT ${text}`}`);
          button.tabIndex = -1;
          cell.replaceChildren(button);
        }
      });
    }
    hatscore.rove(table);
  }

  const scoreTable = hatscore.recordTable(document.getElementById("score-table"), data.columns.scores, {
    mixed: hatscore.mixed(rows),
    sorted: (key, direction) => { rest.sort = `${key}.${direction}`; remember(filters); },
  });
  const statusTable = hatscore.recordTable(document.getElementById("status-table"), data.columns.statuses, {
    page: 30, opens: (row) => hatscore.hasItems(row),
  });
  const paged = [scoreTable, statusTable];
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    if (table.id === "score-table" || table.id === "status-table") continue;
    const long = data.studies[table.id];
    if (long) {
      paged.push(hatscore.recordTable(table, long.columns));
      paged.at(-1).fill(hatscore.unpack(long.rows));
    }
    else hatscore.sortInPlace(table);
  }

  // Profiles: one model on one benchmark, all languages or one.
  const choose = {
    benchmark: document.getElementById("profile-benchmark"),
    model: document.getElementById("profile-model"),
    language: document.getElementById("profile-language"),
  };
  const option = (value, text) => hatscore.element("option", { value }, text);
  const refill = (select, options, wanted) => {
    select.replaceChildren(...options.map(([value, text]) => option(value, text)));
    select.value = options.some(([value]) => value === wanted) ? wanted : options[0]?.[0] ?? "";
  };
  const profileLanguages = (wanted = "") => {
    const part = data.profiles.filter((row) => row.benchmark === choose.benchmark.value && row.model === choose.model.value);
    refill(choose.language, [["", "all languages"], ...part.map((row) => [row.language, row.label])], wanted);
  };
  const profile = () => ({
    benchmark: choose.benchmark.value, model: choose.model.value, language: choose.language.value,
  });

  const charts = hatscore.charts(data, rows, statuses);
  hatscore.views = charts.views;
  const output = document.getElementById("shown");
  const plural = (n, noun) => `${hatscore.grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
  let last = null;

  const apply = (state) => {
    const passes = (row) => hatscore.passes(row, state);
    const narrowed = state.language !== undefined || state.script !== undefined;
    const shown = rows.filter(passes);
    const single = shown.filter((row) => !row.macro);
    const total = rows.filter((row) => !row.macro).length;
    output.textContent = `${hatscore.grouped(single.length)} of ${plural(total, "score")} shown: `
      + [["model", "model"], ["language", "language"], ["benchmark", "benchmark"]]
        .map(([key, noun]) => plural(hatscore.distinct(single, key).length, noun)).join(", ");
    scoreTable.fill(single);
    statusTable.fill(statuses.filter(passes));
    const models = new Set(shown.map((row) => row.model));
    const languages = new Set(single.map((row) => row.language));
    const benchmarks = new Set(shown.map((row) => row.benchmark));
    for (const part of document.querySelectorAll("[data-benchmark].part, figure[data-benchmark]")) {
      const name = part.dataset.benchmark;
      if (name && part.dataset.chart !== "study") part.hidden = !benchmarks.has(name);
    }
    for (const table of document.querySelectorAll('table[id^="ranking-"]')) {
      for (const line of table.tBodies[0].rows) line.hidden = !models.has(line.dataset.model);
    }
    for (const { table, codes } of heats) {
      for (const line of table.rows) {
        if (line.dataset.model !== undefined) line.hidden = !models.has(line.dataset.model);
        [...line.cells].forEach((cell, i) => { if (codes[i]) cell.hidden = !languages.has(codes[i]); });
        line.lastElementChild.hidden = narrowed;
      }
    }
    hatscore.edges();
    last = { passes, narrowed, profile: profile() };
    charts.refresh(last);
  };

  const filters = hatscore.filters(document.querySelector("#filters form"), (state) => { remember(filters); apply(state); });
  document.getElementById("reset").addEventListener("click", () => {
    delete rest.sort;
    scoreTable.clear();
    filters.set({});
    remember(filters);
    apply({});
  });

  const chosenProfile = () => {
    rest.profile = JSON.stringify(Object.values(profile()));
    remember(filters);
    last.profile = profile();
    charts.refresh(last, ["profiles"]);
  };
  for (const name of ["benchmark", "model"]) {
    choose[name].addEventListener("change", () => { profileLanguages(choose.language.value); chosenProfile(); });
  }
  choose.language.addEventListener("change", chosenProfile);
  hatscore.showProfile = (model, benchmark, language = "") => {
    choose.benchmark.value = benchmark;
    choose.model.value = model;
    profileLanguages(language);
    chosenProfile();
    document.getElementById("profiles").scrollIntoView();
    choose.language.focus({ preventScroll: true });
  };

  const restyle = () => { themed(); charts.refresh(last); };
  theme.addEventListener("click", () => {
    const order = [undefined, "light", "dark"];
    const next = order[(order.indexOf(root.dataset.theme) + 1) % order.length];
    if (next === undefined) delete root.dataset.theme;
    else root.dataset.theme = next;
    if (next) rest.theme = next;
    else delete rest.theme;
    remember(filters);
    restyle();
  });
  names.addEventListener("click", () => {
    if (rest.names) delete rest.names;
    else rest.names = "native";
    remember(filters);
    rename();
    filters.tell();
    profileLanguages(choose.language.value);
    apply(filters.state());
  });
  system.addEventListener("change", () => { if (!root.dataset.theme) restyle(); });

  const follow = () => {
    const read = hatscore.address.read();
    section = read.section;
    for (const name of Object.keys(rest)) delete rest[name];
    Object.assign(rest, read.rest);
    if (["light", "dark"].includes(rest.theme)) root.dataset.theme = rest.theme;
    if (rest.names !== "native") delete rest.names;
    themed();
    rename();
    filters.set(read.state);
    const [key, direction] = (rest.sort ?? "").split(".");
    if (["ascending", "descending"].includes(direction)) scoreTable.sort(key, direction);
    let wanted = [];
    try { wanted = JSON.parse(rest.profile ?? "[]"); } catch { delete rest.profile; }
    if (data.profiles.some((row) => row.benchmark === wanted[0] && row.model === wanted[1])) {
      choose.benchmark.value = wanted[0];
      choose.model.value = wanted[1];
    }
    profileLanguages(wanted[2]);
    apply(filters.state());
    const target = section && document.getElementById(section);
    if (target) target.scrollIntoView();
  };
  // A link within the page moves, and leaves the filters in the address alone.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    const target = link && document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    section = target.id;
    remember(filters);
    target.scrollIntoView();
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
  });
  // Paper is white: charts of the dark page change their colours, and at once, for a printer does
  // not wait until they are drawn anew.
  // And it cannot be clicked: what is folded is opened, and tables of some pages are whole.
  let onPaper = false, unfolded = [];
  const paper = (printing) => {
    if (printing === onPaper) return;
    onPaper = printing;
    for (const table of paged) table.paper(printing);
    if (printing) unfolded = [...document.querySelectorAll("main details:not([open], .numbers)")];
    for (const part of unfolded) part.open = printing;
    if (root.dataset.shown !== "dark") return;
    const { light, dark } = data.themes;
    hatscore.recolour(printing ? dark : light, printing ? light : dark);
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  matchMedia("print").addEventListener("change", (event) => paper(event.matches));
  addEventListener("hashchange", follow);
  let width = innerWidth, waiting = null;
  addEventListener("resize", () => {
    // paper has another width, and no time to draw anew
    if (innerWidth === width || matchMedia("print").matches) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => { charts.refresh(last); hatscore.edges(); }, 200);
  });
  follow();
  root.dataset.ready = "yes";
};

// Give every drawn mark the colour of another look in place of that of this one.
hatscore.recolour = (from, to) => {
  const pairs = new Map();
  const walk = (a, b) => {
    if (typeof a === "string" && a.startsWith("#")) pairs.set(a, b);
    else if (a && typeof a === "object") for (const key of Object.keys(a)) walk(a[key], b[key]);
  };
  walk(from, to);
  for (const name of ["fill", "stroke"]) {
    for (const node of document.querySelectorAll(`.plot svg [${name}]`)) {
      const other = pairs.get(node.getAttribute(name));
      if (other) node.setAttribute(name, other);
    }
  }
};

// In a map of cells one cell is in the order of Tab; arrows go from cell to cell.
hatscore.rove = (table) => {
  const grid = () => [...table.tBodies[0].rows].filter((line) => !line.hidden)
    .map((line) => [...line.cells].filter((cell) => !cell.hidden).map((cell) => cell.querySelector("button.cell")));
  const first = table.querySelector("button.cell");
  if (!first) return;
  first.tabIndex = 0;
  // what a filter hides is out of reach: another cell takes its place
  new MutationObserver(() => {
    const held = table.querySelector('button.cell[tabindex="0"]');
    if (held && !held.closest("[hidden]")) return;
    const next = grid().flat().find((button) => button);
    if (!next) return;
    if (held) held.tabIndex = -1;
    next.tabIndex = 0;
  }).observe(table, { subtree: true, attributes: true, attributeFilter: ["hidden"] });
  table.addEventListener("focusin", (event) => {
    if (!event.target.matches("button.cell")) return;
    for (const button of table.querySelectorAll('button.cell[tabindex="0"]')) button.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  table.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move || !event.target.matches("button.cell")) return;
    const cells = grid();
    let i = cells.findIndex((line) => line.includes(event.target));
    let j = cells[i].indexOf(event.target);
    do { i += move[0]; j += move[1]; } while (cells[i]?.[j] === null);
    if (!cells[i]?.[j]) return;
    event.preventDefault();
    cells[i][j].focus();
  });
};

hatscore.start();
