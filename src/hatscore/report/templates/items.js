// Items behind a score: the source beside the target, every reply with how it was read and why.
// All texts of models and benchmarks become text nodes: nothing in them is read as markup.
hatscore.items = (() => {
  const embedded = document.getElementById("items-index");
  if (embedded === null) return null;
  const index = JSON.parse(embedded.textContent);
  const inside = document.getElementById("items-data");
  const chunks = inside === null ? null : JSON.parse(inside.textContent);
  const make = (tag, attributes, ...children) => hatscore.element(tag, attributes, ...children);
  const key = (...names) => JSON.stringify(names);
  const parts = new Map(index.parts.map(([model, benchmark, language, isSource, count, items], number) =>
    [key(model, benchmark, language, isSource), { number, count, items }]));

  // -- loading: a page on a disk may load scripts and nothing else -----------------------------
  const waiting = new Map();
  hatscore.take = (name, content) => { waiting.get(name)?.(content); };
  const chunk = (name) => {
    if (chunks !== null) return Promise.resolve(chunks[name]);
    return new Promise((resolve, reject) => {
      const script = make("script", { src: `${index.where}${name}.js`, charset: "utf-8" });
      const done = () => { waiting.delete(name); script.remove(); };
      waiting.set(name, (content) => { done(); resolve(content); });
      script.addEventListener("error", () => { done(); reject(new Error(name)); });
      document.head.append(script);
    });
  };
  const most = 8;
  const loaded = new Map();
  const load = (model, benchmark, language, isSource) => {
    const name = key(model, benchmark, language, isSource);
    const part = parts.get(name);
    if (part === undefined) return Promise.resolve([]);
    if (!loaded.has(name)) {
      // what was opened last is kept; all of a large run would fill the memory
      if (loaded.size >= most) loaded.delete(loaded.keys().next().value);
      const names = Array.from({ length: part.count }, (_, i) => `${part.number}-${i}`);
      const found = Promise.all(names.map(chunk)).then((list) =>
        list.flatMap(({ texts, items }) => items.map((item) => ({ ...item, texts }))));
      found.catch(() => loaded.delete(name));
      loaded.set(name, found);
    }
    return loaded.get(name);
  };

  // -- words -----------------------------------------------------------------------------------
  const signs = {
    correct: "✓", wrong: "✗", unparsed: "?", empty: "∅", truncated: "…", refused: "⊘", error: "!", judge_unparsed: "?",
  };
  const said = {
    correct: "correct", wrong: "wrong", unparsed: "no answer read", empty: "empty", truncated: "truncated",
    refused: "refused", error: "error", judge_unparsed: "no verdict", "": "scored",
  };
  const english = (code) => index.names[code] ?? code;
  const plural = (n, noun) => `${hatscore.grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
  const counted = (n) => `${hatscore.grouped(n)} ${n === 1 ? "reply" : "replies"}`;
  const rate = (item) => (item && item.n ? item.k / item.n : null);
  const short = (value) => (value === null ? "–" : value.toFixed(2));
  const replies = (item) => item?.replies ?? [];
  const text = (item) => [item.question, item.gold, ...(item.also ?? []),
    ...(item.options ?? []).flat(), ...replies(item).flatMap((reply) => [reply.text, reply.answer, reply.why])]
    .filter(Boolean).join("\n");

  // -- the dialog ------------------------------------------------------------------------------
  const dialog = document.getElementById("drill");
  const title = make("h2", { id: "drill-title" });
  const score = make("p", { class: "soft" });
  const close = make("button", { type: "button", class: "small", "aria-label": "Close and return to the page" }, "Close ", make("kbd", {}, "Esc"));
  const search = make("input", { type: "search", placeholder: "Search texts", "aria-label": "Search questions, golds and replies" });
  const order = make("select", { "aria-label": "Order of the items" });
  const status = make("select", { "aria-label": "Items with a target reply that ended so" });
  const shown = make("output", { "aria-live": "polite" });
  const list = make("ul", { class: "items" });
  const more = make("button", { type: "button", class: "small" });
  const detail = make("div", { class: "item", tabindex: "0", role: "region", "aria-label": "The chosen item" });
  const notes = make("div", { class: "soft" });
  dialog.dataset.side = "target";
  dialog.removeAttribute("aria-label");
  dialog.setAttribute("aria-labelledby", title.id);
  dialog.append(
    make("div", { class: "drill-head" }, make("div", {}, title, score), close),
    make("div", { class: "drill-tools", role: "search" }, search, order, status, shown),
    make("div", { class: "drill-body" }, make("div", { class: "drill-list" }, list, more, notes), detail),
  );
  const orders = [
    ["lost", "Source right, target wrong first", (a, b) => b.loss - a.loss],
    ["gained", "Target right, source wrong first", (a, b) => a.loss - b.loss],
    ["hard", "Hardest in the source first", (a, b) => (a.s ?? 2) - (b.s ?? 2)],
    ["item", "By item", (a, b) => hatscore.collator.compare(a.name, b.name)],
  ];
  order.append(...orders.map(([value, name]) => make("option", { value }, name)));

  const page = 150;
  let cell = null, rows = [], filtered = [], chosen = null, drawn = 0, ticket = 0;
  let pushed = false, returning = false, origin = null, left = null;

  // -- the address: a link opens the same item ---------------------------------------------------
  const address = () => {
    const query = new URLSearchParams({ m: cell.model, b: cell.benchmark, l: cell.language });
    if (chosen) query.set("i", chosen.name);
    if (order.value !== orders[0][0]) query.set("o", order.value);
    if (status.value) query.set("s", status.value);
    if (search.value) query.set("q", search.value);
    return `#items?${query}`;
  };
  const remember = () => { if (dialog.open) history.replaceState(history.state, "", address()); };
  const follow = () => {
    if (!location.hash.startsWith("#items?")) return false;
    const query = new URLSearchParams(location.hash.slice("#items?".length));
    if (!["m", "b", "l"].every((name) => query.has(name))) return false;
    show(query.get("m"), query.get("b"), query.get("l"), {
      item: query.get("i"), order: query.get("o"), status: query.get("s"), search: query.get("q"),
    });
    return true;
  };
  const refocus = () => {
    const { model, benchmark, language } = left;
    // the cell it was opened from; the page may have drawn it anew, and a link opens from none
    const cells = [...document.querySelectorAll("button.cell")];
    const named = cells.find((one) => one.dataset.model === model && one.dataset.benchmark === benchmark && one.dataset.language === language);
    (origin?.isConnected ? origin : named)?.focus({ preventScroll: true });
  };
  // registered before the page's own listener: coming and going of the dialog moves no page
  addEventListener("hashchange", (event) => {
    // going back to a place of the page takes the focus away
    if (returning) refocus();
    if (returning || dialog.open || location.hash.startsWith("#items?")) event.stopImmediatePropagation();
    returning = false;
    if (!follow() && dialog.open) { pushed = false; dialog.close(); }
  });
  document.addEventListener("DOMContentLoaded", () => { pushed = false; follow(); });
  dialog.addEventListener("close", () => {
    left = cell;
    refocus();
    cell = null;
    ticket += 1;
    document.documentElement.classList.remove("drilled");
    if (pushed) { returning = true; pushed = false; history.back(); }
    else if (location.hash.startsWith("#items?")) history.replaceState(null, "", location.pathname + location.search);
  });
  close.addEventListener("click", () => dialog.close());

  // -- opening a cell ----------------------------------------------------------------------------
  const open = (model, benchmark, language) => {
    origin = document.activeElement?.closest("button.cell");
    history.pushState(null, "", `#items?${new URLSearchParams({ m: model, b: benchmark, l: language })}`);
    pushed = true;
    show(model, benchmark, language);
  };
  const show = async (model, benchmark, language, wanted = {}) => {
    const mine = ticket += 1;
    cell = { model, benchmark, language };
    rows = filtered = [];
    chosen = null;
    search.value = wanted.search ?? "";
    order.value = orders.some(([value]) => value === wanted.order) ? wanted.order : orders[0][0];
    status.replaceChildren(make("option", { value: "" }, "All replies"));
    title.textContent = `${english(language)} (${language})`;
    const row = hatscore.rows.find((r) => r.model === model && r.benchmark === benchmark && r.language === language);
    const value = row ? hatscore.said(row) : "";
    score.textContent = [model, benchmark, value].filter(Boolean).join(" · ");
    list.replaceChildren();
    notes.replaceChildren();
    shown.textContent = "";
    more.hidden = true;
    detail.replaceChildren(make("p", { class: "soft", role: "status" }, "Loading the items …"));
    dialog.dataset.view = "list";
    document.documentElement.classList.add("drilled");
    if (!dialog.open) dialog.showModal();
    let targets, sources;
    try {
      targets = await load(model, benchmark, language, false);
      const languages = hatscore.distinct(targets, "source");
      const found = await Promise.all(languages.map((source) => load(model, benchmark, source, true)));
      sources = new Map(languages.map((source, i) => [source, new Map(found[i].map((item) => [item.item, item]))]));
    } catch {
      if (mine !== ticket) return;
      detail.replaceChildren(make("p", {}, "The items could not be loaded. They lie in the folder “items” beside this page; where the report was written anew, load this page again."));
      return;
    }
    if (mine !== ticket) return;
    rows = targets.map((target) => {
      const source = sources.get(target.source)?.get(target.item) ?? null;
      const s = rate(source), t = rate(target);
      return { name: target.item, target, source, s, t, loss: s === null || t === null ? -2 : s - t, sought: null };
    });
    const ended = new Map();
    for (const { target } of rows) {
      for (const one of new Set(replies(target).map((reply) => reply.status))) ended.set(one, (ended.get(one) ?? 0) + 1);
    }
    status.append(...[...ended].sort((a, b) => b[1] - a[1]).map(([one, n]) =>
      make("option", { value: one || "scored" }, `Any reply ${said[one] ?? one} (${plural(n, "item")})`)));
    status.value = [...status.options].some((option) => option.value === wanted.status) ? wanted.status : "";
    notes.replaceChildren(...index.notes.map((note) => make("p", {}, note)));
    overview();
    refresh(wanted.item);
    if (!dialog.contains(document.activeElement) || document.activeElement === dialog || document.activeElement === close) {
      (list.querySelector("[aria-current]") ?? search).focus({ preventScroll: true });
    }
  };
  const overview = () => {
    const both = rows.filter((row) => row.s !== null && row.t !== null);
    const better = both.filter((row) => row.loss > 0).length, worse = both.filter((row) => row.loss < 0).length;
    if (both.length) {
      score.textContent += ` · The source does better in ${better} of ${plural(both.length, "item")}, the target in ${worse}, both alike in ${both.length - better - worse}.`;
    }
  };

  // -- the list ----------------------------------------------------------------------------------
  const refresh = (wanted) => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const one = status.value === "scored" ? "" : status.value;
    filtered = rows.filter((row) => {
      if (status.value && !replies(row.target).some((reply) => reply.status === one)) return false;
      if (!words.length) return true;
      row.sought ??= `${row.name}\n${text(row.target)}\n${row.source ? text(row.source) : ""}`.toLowerCase();
      return words.every((word) => row.sought.includes(word));
    });
    const compare = orders.find(([value]) => value === order.value)[2];
    filtered.sort((a, b) => compare(a, b) || hatscore.collator.compare(a.name, b.name));
    shown.textContent = rows.length ? `${hatscore.grouped(filtered.length)} of ${plural(rows.length, "item")}` : "";
    list.replaceChildren();
    drawn = 0;
    grow();
    const again = filtered.find((row) => row.name === (wanted ?? chosen?.name));
    if (wanted && again) reach(again);
    choose(again ?? filtered[0] ?? null, { turn: Boolean(wanted && again) });
  };
  const grow = () => {
    const part = filtered.slice(drawn, drawn + page);
    drawn += part.length;
    list.append(...part.map(entry));
    more.hidden = drawn >= filtered.length;
    more.textContent = `Show ${Math.min(page, filtered.length - drawn)} more`;
  };
  const reach = (row) => { while (filtered.indexOf(row) >= drawn) grow(); };
  more.addEventListener("click", grow);
  const bar = (value, name) => {
    // without a rate there is no bar: an empty one would say 0
    const made = make("span", { class: `rate ${name}` }, make("span", { class: "of" }, name), " ", short(value));
    if (value !== null) {
      const meter = make("span", { class: "meter", "aria-hidden": "true" }, make("i"));
      meter.firstChild.style.width = `${Math.min(100, 100 * value)}%`;
      made.append(meter);
    }
    return made;
  };
  const entry = (row) => {
    const { target, source } = row;
    const asked = source?.question ? source : target;
    const button = make("button", { type: "button", tabindex: "-1" },
      make("span", { class: "name" }, row.name),
      make("span", { class: "rates" }, bar(row.s, "s"), bar(row.t, "t")),
      make("span", { class: "asked", dir: "auto", lang: asked === source ? target.source : cell.language }, (asked.question ?? asked.gold ?? "").slice(0, 140)));
    button.addEventListener("click", () => { choose(row, { turn: true }); remember(); });
    const line = make("li", {}, button);
    row.button = button;
    return line;
  };
  const choose = (row, { focus = false, turn = false } = {}) => {
    for (const old of list.querySelectorAll("[aria-current]")) { old.removeAttribute("aria-current"); old.tabIndex = -1; }
    chosen = row;
    if (row === null) {
      const why = rows.length ? "No item passes the filter." : "No texts are held for this score.";
      detail.replaceChildren(make("p", { class: "soft" }, why));
      return;
    }
    reach(row);
    row.button.setAttribute("aria-current", "true");
    row.button.tabIndex = 0;
    row.button.scrollIntoView({ block: "nearest" });
    if (focus) row.button.focus({ preventScroll: true });
    if (turn) dialog.dataset.view = "item";
    detail.replaceChildren(...whole(row));
    detail.scrollTop = 0;
  };
  const step = (by, focus) => {
    const next = filtered[filtered.indexOf(chosen) + by];
    if (next) { choose(next, { focus }); remember(); }
  };

  // -- one item ----------------------------------------------------------------------------------
  const whole = (row) => {
    const place = filtered.indexOf(row);
    const back = make("button", { type: "button", class: "small to-list" }, "‹ All items");
    back.addEventListener("click", () => { dialog.dataset.view = "list"; row.button.focus(); });
    const go = (by, name) => {
      const button = make("button", { type: "button", class: "small", "aria-label": `${name} item` }, by < 0 ? "‹" : "›");
      button.disabled = !filtered[place + by];
      button.addEventListener("click", () => { step(by, false); detail.querySelector(`[aria-label="${name} item"]:enabled`)?.focus(); });
      return button;
    };
    const source = row.target.source;
    // on a phone one side is shown at a time
    const turns = [["source", source], ["target", cell.language]].map(([side, language]) => {
      const button = make("button", { type: "button", class: "small", "aria-pressed": String(dialog.dataset.side === side) }, english(language));
      button.addEventListener("click", () => {
        dialog.dataset.side = side;
        for (const one of turns) one.setAttribute("aria-pressed", String(one === button));
      });
      return button;
    });
    return [
      make("div", { class: "item-head" }, back, make("h3", {}, `Item ${row.name}`),
        make("span", { class: "soft" }, `${place + 1} of ${hatscore.grouped(filtered.length)}`), go(-1, "Previous"), go(1, "Next")),
      make("div", { class: "turns", role: "group", "aria-label": "Side" }, ...turns),
      make("div", { class: "sides" },
        side(row.source, source, `${english(source)}, the source`, "s"),
        side(row.target, cell.language, `${english(cell.language)}, the target`, "t")),
    ];
  };
  const written = (value, language, attributes = {}, tag = "p") =>
    make(tag, { dir: "auto", lang: language, ...attributes }, value);
  const side = (item, language, heading, letter) => {
    const made = make("section", { class: `side of-${letter}`, "aria-label": heading });
    made.append(make("h4", {}, heading));
    if (item === null) {
      made.append(make("p", { class: "soft" }, "The data hold no texts of this side."));
      return made;
    }
    const sum = item.n
      ? `${letter} = ${hatscore.grouped(item.k)} of ${counted(item.n)} right = ${hatscore.number(rate(item))}`
      : "no reply counts";
    made.append(make("p", { class: "sum" }, sum, item.weight ? ` · stands for ${item.weight} items (plan)` : ""));
    made.append(item.question ? written(item.question, language, { class: "question" }) : make("p", { class: "soft" }, "The data do not hold the question."));
    if (item.options) made.append(options(item, language));
    made.append(gold(item, language));
    for (const [name, value] of [["Text that the judge reads", item.context], ["What was sent, to the letter", prompt(item)]]) {
      if (value) made.append(make("details", {}, make("summary", {}, name), written(value, language, {}, "pre")));
    }
    const all = replies(item).reduce((sum, one) => sum + (one.times ?? 1), 0);
    made.append(make("h5", {}, all ? counted(all) : "No replies are held"));
    made.append(...[...replies(item)].sort((a, b) => (b.times ?? 1) - (a.times ?? 1)).map((one) => reply(one, language)));
    return made;
  };
  const prompt = (item) => {
    if (!item.prompt) return "";
    const [before, after] = item.prompt.map((place) => item.texts[place]);
    return after === undefined ? before : `${before}${item.question}${after}`;
  };
  const right = (item, label) => label === item.gold || (item.also ?? []).includes(label);
  const options = (item, language) => make("ul", { class: "options" }, ...item.options.map(([label, value]) => {
    const is = right(item, label);
    return make("li", is ? { class: "gold" } : {}, make("b", {}, label), " ", written(value, language, {}, "span"), is ? make("span", { class: "tag" }, "right") : "");
  }));
  const gold = (item, language) => {
    const made = make("p", { class: "gold-line" }, make("span", { class: "of" }, "Gold"), " ");
    made.append(item.gold ? written(item.gold, language, {}, "strong") : "not in the data");
    if (item.also && !item.options) {
      made.append(make("span", { class: "soft" }, " also accepted: ", written(item.also.join(", "), language, {}, "span")));
    }
    return made;
  };
  const long = 480;
  const reply = (one, language) => {
    const name = said[one.status] ?? one.status;
    const head = make("p", { class: "read" },
      make("span", { class: `status ${one.status || "scored"}` }, `${signs[one.status] ?? "•"} ${name}`));
    if (one.times) head.append(" ", make("span", { class: "times" }, `${one.times} times the same`));
    if (one.out) head.append(" ", make("span", { class: "tag" }, "does not count"));
    if (one.credit !== undefined && one.credit > 0 && one.credit < 1) head.append(` credit ${short(one.credit)}`);
    const why = make("p", { class: "why" });
    if (one.answer !== undefined) why.append("Read as ", written(one.answer, language, {}, "strong"), one.why ? ": " : ".");
    if (one.why) why.append(one.answer === undefined ? one.why[0].toUpperCase() + one.why.slice(1) : one.why, ".");
    for (const [judge, verdict] of one.votes ?? []) why.append(` ${judge} says: ${verdict}.`);
    if (one.finish && !["truncated", "refused"].includes(one.status)) why.append(make("span", { class: "soft" }, ` Ended by “${one.finish}”.`));
    const made = make("article", { class: "reply" }, head);
    if (why.childNodes.length) made.append(why);
    if (one.thinking) made.append(make("details", {}, make("summary", {}, "Thinking"), written(one.thinking, language, {}, "pre")));
    if (one.text) made.append(...body(one, language));
    return made;
  };
  const body = (one, language) => {
    const made = written("", language, {}, "pre");
    const fill = (end) => {
      const [from, to] = one.place ?? [0, 0];
      made.replaceChildren(one.text.slice(0, Math.min(from, end)));
      if (to > from && from < end) made.append(make("mark", {}, one.text.slice(from, Math.min(to, end))));
      made.append(one.text.slice(Math.min(Math.max(from, to), end), end));
      if (one.place === undefined || to <= from) made.replaceChildren(one.text.slice(0, end));
    };
    // an answer stands at the end of a long reply as often as at its beginning
    if (one.text.length <= long) { fill(one.text.length); return [made, ...cut(one)]; }
    const all = make("button", { type: "button", class: "small" }, `Show all ${hatscore.grouped(one.whole ?? one.text.length)} characters`);
    const tail = one.place && one.place[0] > long;
    fill(long);
    const parts = [made, all];
    if (tail) {
      made.append("\n…\n", make("mark", {}, one.text.slice(one.place[0], one.place[1])));
    } else {
      made.append("…");
    }
    all.addEventListener("click", () => { fill(one.text.length); all.replaceWith(...cut(one)); });
    return parts;
  };
  const cut = (one) => (one.whole ? [make("p", { class: "soft" }, `The first ${hatscore.grouped(one.text.length)} of ${hatscore.grouped(one.whole)} characters.`)] : []);

  // -- controls ----------------------------------------------------------------------------------
  let soon = null;
  search.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(() => { refresh(); remember(); }, 120); });
  for (const control of [order, status]) control.addEventListener("change", () => { refresh(); remember(); });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const end = { Home: filtered[0], End: filtered.at(-1) }[event.key];
    if (by) step(by, true);
    else if (end) { choose(end, { focus: true }); remember(); }
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    if (event.key === "/") { search.focus(); event.preventDefault(); }
    const by = { j: 1, k: -1 }[event.key];
    if (by) step(by, list.contains(document.activeElement));
  });

  hatscore.openCell = open;
  return { open, has: (model, benchmark, language) => parts.has(key(model, benchmark, language, false)) };
})();
