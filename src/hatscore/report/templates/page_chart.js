// Charts: specifications come ready from the program; here they get the rows that are shown.
hatscore.most = 6;

hatscore.distinct = (rows, key) => [...new Set(rows.map((row) => row[key]))];

// Plug-in slopes among corrected ones: they are lower by their noise, and share no order with them.
hatscore.mixed = (rows) => new Set(rows.map((row) => row.estimator).filter(Boolean)).size > 1;

// Languages by mean HAT, best first, those without a score then, the mean over languages last.
hatscore.orderedLabels = (rows) => {
  const held = new Map(), apart = hatscore.mixed(rows);
  for (const row of rows) {
    const entry = held.get(row.label) ?? { macro: row.macro, values: [] };
    if (row.hat !== null && !(apart && row.estimator === "plugin")) entry.values.push(row.hat);
    held.set(row.label, entry);
  }
  const mean = (values) => values.length ? values.reduce((a, b) => a + b, 0) / values.length : -Infinity;
  return [...held]
    .map(([label, entry]) => ({ label, macro: entry.macro, mean: mean(entry.values) }))
    .sort((a, b) => a.macro - b.macro || b.mean - a.mean || hatscore.collator.compare(a.label, b.label))
    .map((entry) => entry.label);
};

hatscore.density = (text) => {
  // counts over a grid of source and target rates: A-Z are runs of zeros, ~ and ! announce
  // counts of two and four digits, all in base 36
  const bins = 11, found = { s: [], t: [], items: [] };
  let place = 0;
  for (let i = 0; i < text.length;) {
    const sign = text[i];
    if (sign >= "A" && sign <= "Z") { place += sign.charCodeAt(0) - 64; i += 1; continue; }
    const width = { "~": 2, "!": 4 }[sign] ?? 0;
    const digits = width ? text.slice(i + 1, i + 1 + width) : sign;
    found.s.push(Math.floor(place / bins) / (bins - 1));
    found.t.push((place % bins) / (bins - 1));
    found.items.push(parseInt(digits, 36));
    place += 1;
    i += 1 + width;
  }
  return found;
};

// Lay out a legend of names in the columns that there is room for.
hatscore.layLegend = (legend, names, room) => {
  const longest = Math.max(...names.map((name) => name.length));
  legend.columns = Math.max(1, Math.min(names.length, Math.floor(room / (6.6 * longest + 34))));
  legend.direction = legend.columns === 1 ? "vertical" : "horizontal";
};

// Put the names that are shown into every scale of names, and lay out its legend; `names` by field.
hatscore.tailor = (spec, names, room, looks) => {
  const visit = (node, channel) => {
    if (Array.isArray(node)) { node.forEach((part) => visit(part, channel)); return; }
    if (node === null || typeof node !== "object") return;
    const domain = node.scale?.domain;
    if (Array.isArray(domain) && typeof domain[0] === "string" && names[node.field]) {
      const shown = node.scale.domain = names[node.field];
      // a model and its family look the same wherever they are shown
      if (node.scale.range) node.scale.range = shown.map((name) => looks.range(channel, node.field, name));
      const told = node.field === "group" ? shown.filter((name) => looks.families.includes(name)) : shown;
      // a single model is named elsewhere on the page; a single way of ending is named here alone
      if (node.legend && (shown.length < 2 && node.field !== "status" || !told.length)) {
        node.legend = null;
      } else if (node.legend) {
        if (node.field === "group") node.legend.values = told;
        hatscore.layLegend(node.legend, told, room);
      }
    }
    for (const [name, part] of Object.entries(node)) visit(part, name);
  };
  visit(spec);
  return spec;
};

// As many numbers on an axis as stand side by side.
hatscore.thin = (node, width) => {
  if (node === null || typeof node !== "object") return;
  if (node.x?.axis && node.x.type === "quantitative") {
    Object.assign(node.x.axis, { tickCount: Math.max(2, Math.min(10, Math.floor(width / 52))), labelOverlap: true });
  }
  Object.values(node).forEach((part) => hatscore.thin(part, width));
};

// An axis that holds 0, 1, all values, and the interval ends that do not flatten these.
hatscore.span = (values, ends) => {
  const known = (x) => x !== null && x !== undefined && Math.abs(x) < 1e9;
  const low = Math.min(0, ...values.filter(known), ...ends.filter(known).map((x) => Math.max(x, -0.5)));
  const high = Math.max(1, ...values.filter(known), ...ends.filter(known).map((x) => Math.min(x, 2)));
  return [Math.floor(20 * low - 0.8) / 20, Math.ceil(20 * high + 0.8) / 20];
};

// Give a chart the axis of the rows that are shown: its ends stand in scales and in expressions.
hatscore.retarget = (spec, rows, key, more = []) => {
  let old = null;
  const find = (node) => {
    if (node === null || typeof node !== "object" || old) return;
    const domain = node.x?.scale?.domain;
    if (Array.isArray(domain) && typeof domain[0] === "number") { old = domain; return; }
    Object.values(node).forEach(find);
  };
  find(spec);
  if (!old) return;
  const values = [key, ...more].flatMap((name) => rows.map((row) => row[name]));
  const wanted = hatscore.span(values, rows.flatMap((row) => [row[`${key}_low`], row[`${key}_high`]]));
  const exact = (end) => new RegExp(`(?<![\\w.-])${String(end).replace(/[.-]/g, "\\$&")}(?![\\w.])`, "g");
  const written = (text) => old.reduce((held, end, i) => held.replace(exact(end), `\u0000${i}`), text)
    .replace(/\u0000([01])/g, (_, i) => String(wanted[Number(i)]));
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    const domain = node.scale?.domain;
    if (Array.isArray(domain) && domain[0] === old[0] && domain[1] === old[1]) node.scale.domain = wanted;
    for (const name of ["calculate", "filter"]) if (typeof node[name] === "string") node[name] = written(node[name]);
    Object.values(node).forEach(visit);
  };
  visit(spec);
};

hatscore.parameter = (spec, name, value) => {
  const found = (spec.params ?? []).find((p) => p.name === name);
  if (found) found.value = value;
};

hatscore.charts = (data, rows, statuses) => {
  const drawn = new Map();
  const symbols = data.themes.light.range.symbol;
  const bars = data.specs.status.encoding.color.scale;
  const looks = {
    families: data.looks.families,
    range(channel, field, name) {
      if (field === "status") return bars.range[bars.domain.indexOf(name)];
      const models = data.looks.models;
      const [colour, shape] = models[name] && field === "model" ? models[name] : Object.values(models).find((look) => look[2] === name);
      return channel === "shape" ? symbols[shape] : { expr: `palette[${colour}]` };
    },
  };
  const groups = (models) => {
    const wanted = new Set(models.map((name) => data.looks.models[name][2]));
    return [...new Set(Object.values(data.looks.models).map((look) => look[2]))].filter((name) => wanted.has(name));
  };
  const copy = (name) => structuredClone(data.specs[name]);
  const dark = () => document.documentElement.dataset.shown === "dark";
  const step = (n) => ({ 1: 16, 2: 10, 3: 9, 4: 8 })[n] ?? Math.max(4.5, 9 - n / 3);
  const within = (low, value, high) => Math.max(low, Math.min(value, high));

  const panelKey = (panel) => panel.layer.map((layer) => layer.encoding.x.field).find((name) => name !== "from_");
  const widest = (labels) => 6.4 * Math.max(...labels.map((x) => x.length));
  // names beside a chart leave it room
  const limit = (node, width) => {
    if (node === null || typeof node !== "object") return;
    if (node.y?.axis && node.y.type === "nominal") node.y.axis.labelLimit = Math.max(60, width + 12);
    Object.values(node).forEach((part) => limit(part, width));
  };
  // the axis says which estimator is shown
  const retitle = (node, change) => {
    if (node === null || typeof node !== "object") return;
    if (typeof node.title === "string" && "grid" in node) node.title = change(node.title);
    for (const part of Object.values(node)) retitle(part, change);
  };
  const titled = (spec, part, room) => {
    const mixed = hatscore.mixed(part);
    hatscore.parameter(spec, "mixed", mixed);
    if (!part.some((row) => row.estimator === "plugin")) return;
    const hollow = room < 480 ? ["hollow with a dashed interval:", "plug-in, not corrected"] : ["hollow with a dashed interval: plug-in, not corrected for noise"];
    retitle(spec, (title) => !title.startsWith("HAT") ? title : !mixed ? `plug-in ${title}`
      : [title, ...title === "HAT" ? ["(hollow: plug-in)"] : hollow]);
  };
  // a mean over all languages must not stand beside a choice of them as if it were theirs
  const ALL = "The mean is over all languages, whatever the filter.";
  const chosen = (part, state) => state.narrowed ? part.filter((row) => !row.macro) : part;
  const builders = {
    dots(figure, state, room) {
      const part = rows.filter((row) => row.benchmark === figure.dataset.benchmark && state.passes(row));
      const order = data.order[figure.dataset.benchmark].filter((name) => part.some((row) => row.model === name));
      const models = order.slice(0, hatscore.most);
      const shown = chosen(part.filter((row) => models.includes(row.model)), state);
      const labels = hatscore.orderedLabels(shown);
      if (!models.length || !labels.length) return null;
      const spec = hatscore.tailor(copy("dots"), { model: models, group: groups(models) }, room - widest(labels), looks);
      // on a phone the caption alone says what small marks are
      if (room < 480) retitle(spec, (title) => title.split("; ")[0]);
      titled(spec, shown, room);
      hatscore.retarget(spec, shown, "hat", ["target_accuracy"]);
      hatscore.parameter(spec, "models", models);
      hatscore.parameter(spec, "languages", labels);
      spec.height = { step: step(models.length), for: "offset" };
      spec.width = within(150, room - 26 - widest(labels), 1200);
      // a tall chart has its axis on top too: there is a mark that is not seen for it
      const above = spec.layer.find((layer) => layer.mark.opacity === 0);
      if (labels.length > 12) above.encoding.x.axis = { orient: "top", title: null, grid: false };
      hatscore.thin(spec, spec.width);
      const extra = models.length < order.length ? `Shown are the first ${models.length} of ${order.length} models by their mean.` : "";
      return { spec, name: "scores", rows: shown, extra };
    },
    ranking(figure, state, room) {
      const shown = data.ranks.filter((row) => row.benchmark === figure.dataset.benchmark && state.passes(row));
      if (shown.length < 2) return null;
      if (shown.every((row) => row.hat === null)) return { nothing: "No model has a score here; the tables say why." };
      const models = shown.map((row) => row.model);
      const names = Math.min(290, 0.42 * room, widest(models));
      const spec = hatscore.tailor(copy("ranking"), { model: models, group: groups(models) }, room - 60 - names, looks);
      titled(spec, shown, room);
      hatscore.retarget(spec, shown, "hat");
      const width = within(130, room - 66 - names, 1100);
      hatscore.thin(spec, width);
      limit(spec, names);
      const panel = spec.vconcat[0];
      const old = panel.width;
      panel.width = width;
      delete panel.title;
      for (const layer of panel.layer) {
        layer.transform = (layer.transform ?? []).filter((step) => step.filter?.field !== "benchmark");
        const x = layer.encoding?.x;
        if (x && x.value > old) x.value += width - old;
      }
      return { spec, name: "ranks", rows: shown, extra: state.narrowed ? ALL : "" };
    },
    metrics(figure, state, room) {
      const part = rows.filter((row) => row.benchmark === figure.dataset.benchmark && state.passes(row));
      const order = data.order[figure.dataset.benchmark].filter((name) => part.some((row) => row.model === name));
      if (!order.length) return null;
      const few = order.length <= hatscore.most;
      const shown = few ? chosen(part, state) : part.filter((row) => row.macro);
      const labels = few ? hatscore.orderedLabels(shown) : order;
      if (!labels.length) return null;
      const names = Math.min(290, 0.42 * room, widest(labels));
      const spec = hatscore.tailor(
        copy(few ? "languages" : "models"), { model: order, group: groups(order) }, room - names, looks,
      );
      titled(spec, shown, room);
      hatscore.parameter(spec, few ? "languages" : "models", labels);
      // on a phone two panels stand beside each other, and names with both
      const across = (room - 26 - names) / 4 - 13 < 84 ? 2 : 4;
      const width = across === 4 ? within(84, (room - 26 - names) / 4 - 13, 320)
        : within(60, (room - 26 - names) / 2 - 13, 210);
      hatscore.thin(spec, width);
      limit(spec, names);
      for (const panel of spec.hconcat) {
        hatscore.retarget(panel, shown, panelKey(panel));
        panel.width = width;
        if (few) panel.height = { step: Math.max(16, 6 * order.length + 6), for: "position" };
      }
      if (across === 2) {
        const named = spec.hconcat[0].layer[0].encoding.y.axis;
        for (const layer of spec.hconcat[2].layer) layer.encoding.y.axis = named;
        spec.concat = spec.hconcat;
        spec.columns = 2;
        delete spec.hconcat;
      }
      return { spec, name: "scores", rows: shown, extra: !few && state.narrowed ? ALL : "" };
    },
    profiles(figure, state, room) {
      const wanted = data.profiles.filter((row) => row.benchmark === state.profile.benchmark && row.model === state.profile.model);
      const one = state.profile.language;
      const part = one ? wanted.filter((row) => row.language === one) : wanted;
      if (!part.length) return null;
      const shown = part.map((row) => ({ ...row, ...hatscore.density(row.density), density: undefined }));
      const spec = copy("profiles");
      const most = Math.max(4, ...shown.flatMap((row) => row.items));
      const narrow = room < 560;
      const panel = one ? within(180, room - 120, 340) : narrow ? Math.floor((room - 84) / 2) : 118;
      const size = (node) => {
        if (node === null || typeof node !== "object") return;
        if (node.size?.scale) Object.assign(node.size.scale, { domain: [0, most], range: [0, 1.1 * (panel / 10) ** 2] });
        if (narrow && node.size?.legend) node.size.legend.orient = "top";
        if (narrow) for (const key of [node.stroke, node.strokeDash]) if (key?.legend) Object.assign(key.legend, { columns: 1, direction: "vertical" });
        Object.values(node).forEach(size);
      };
      size(spec);
      spec.spec.width = spec.spec.height = panel;
      spec.facet.sort = shown.map((row) => row.label);
      spec.columns = narrow ? Math.min(shown.length, 2) : Math.max(1, Math.min(shown.length, Math.floor((room - 110) / (panel + 24))));
      return { spec, name: "profiles", rows: shown };
    },
    status(figure, state, room) {
      const held = new Map();
      for (const row of statuses.filter(state.passes)) {
        const entry = held.get(row.label) ?? { label: row.label, role: row.role, replies: 0, lost: data.statuses_named.map(() => 0) };
        entry.replies += row.replies;
        data.statuses_named.forEach((name, i) => { entry.lost[i] += (row[name] ?? 0) * row.replies; });
        held.set(row.label, entry);
      }
      const shown = [...held.values()].flatMap((entry) =>
        entry.lost.map((lost, i) => ({
          label: entry.label, role: entry.role, replies: entry.replies,
          status: data.statuses_named[i], place: i + 1, share: entry.replies ? lost / entry.replies : 0,
        })).filter((row) => row.share > 0),
      );
      if (!shown.length) return null;
      const spec = hatscore.tailor(
        copy("status"), { status: data.statuses_named.filter((name) => shown.some((row) => row.status === name)) }, room, looks,
      );
      const total = new Map();
      for (const row of shown) total.set(row.label, (total.get(row.label) ?? 0) + row.share);
      const labels = [...total].sort((a, b) => b[1] - a[1]).map(([label]) => label);
      hatscore.parameter(spec, "languages", labels);
      spec.width = within(150, room - 26 - widest(labels), 900);
      hatscore.thin(spec.encoding, spec.width);
      return { spec, name: "statuses", rows: shown };
    },
    study(figure, state, room) {
      const spec = copy(`study ${figure.dataset.benchmark}`);
      if (!spec) return null;
      const panels = spec.concat ?? spec.hconcat ?? spec.vconcat ?? [spec];
      const names = [];
      const find = (node) => {
        if (node === null || typeof node !== "object") return;
        // names of lines take room beside a panel, numbers hardly any
        if (node.y?.type === "nominal") names.push(...(node.y.scale?.domain ?? []));
        Object.values(node).forEach(find);
      };
      find(panels);
      const beside = names.length ? Math.min(widest(names.map(String)), room < 560 ? 130 : 300) + 20 : 62;
      const columns = names.length || room < 640 ? 1 : Math.min(spec.columns ?? panels.length, panels.length);
      const width = within(110, room / columns - beside - 26, columns > 1 ? 520 : 900);
      if (spec.concat) spec.columns = columns;
      const fit = (node) => {
        if (node === null || typeof node !== "object") return;
        if (typeof node.width === "number" && node.width > 0) {
          node.width = width;
          if (typeof node.height === "number") node.height = within(node.height, 0.5 * width, 260);
        }
        if (node.y?.axis && names.length) node.y.axis.labelLimit = beside - 12;
        const shown = node.scale?.domain;
        if (node.legend && Array.isArray(shown)) hatscore.layLegend(node.legend, shown.map(String), room - 20);
        Object.values(node).forEach(fit);
      };
      fit(panels);
      hatscore.thin(panels, width);
      return { spec, name: null, rows: [] };
    },
  };

  const mark = (figure, view) => {
    for (const node of figure.querySelectorAll("svg path, svg line, svg text")) {
      const datum = node.__data__?.datum;
      if (!datum?.language || datum.macro) continue;
      for (const name of ["model", "benchmark", "language"]) node.dataset[name] = datum[name];
    }
    view.addEventListener("click", (event, item) => {
      const datum = item?.datum;
      if (datum?.language && datum.model && !datum.macro) hatscore.activate(datum);
    });
  };

  const draw = async (figure, state) => {
    const plot = figure.querySelector(".plot");
    const room = Math.max(260, figure.clientWidth || 320);
    const made = builders[figure.dataset.chart](figure, state, room);
    const nothing = made === null ? "The filters leave nothing to draw here." : made.nothing;
    figure.classList.toggle("empty", nothing !== undefined);
    if (nothing !== undefined) {
      drawn.get(figure)?.finalize();
      drawn.delete(figure);
      plot.replaceChildren(hatscore.element("p", { class: "soft" }, nothing));
      hatscore.edges();
      return;
    }
    if (made.name) made.spec.datasets = { [made.name]: made.rows };
    const config = { ...data.themes[dark() ? "dark" : "light"], background: "transparent" };
    // off stage first: the old chart stays until the new one stands, in print too
    const stage = hatscore.element("div");
    const result = await vegaEmbed(stage, made.spec, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, config,
      defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
    drawn.get(figure)?.finalize();
    plot.replaceChildren(stage);
    // the element around it is the picture and has the words
    plot.querySelector("svg")?.setAttribute("aria-hidden", "true");
    drawn.set(figure, result);
    figure.querySelector(".extra").textContent = made.extra ?? "";
    mark(figure, result.view);
    hatscore.edges();
  };

  // Those in sight first, the others while the reader reads: printing finds them all drawn.
  let queue = [], running = false, current = null;
  const work = async () => {
    if (running) return;
    running = true;
    while (queue.length) {
      const middle = innerHeight / 2;
      const away = (figure) => Math.abs(figure.getBoundingClientRect().top - middle);
      queue.sort((a, b) => away(a) - away(b));
      const figure = queue.shift();
      try {
        await draw(figure, current);
      } catch (error) {
        console.error(figure.dataset.chart, error);
      }
      await new Promise((done) => setTimeout(done));
    }
    running = false;
    document.documentElement.dataset.drawn = "all";
  };

  const save = async (figure, kind) => {
    const result = drawn.get(figure);
    if (!result) return;
    const view = result.view, before = view.background();
    view.background(dark() ? "#15181c" : "#ffffff");
    const uri = kind === "svg"
      ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await view.toSVG())}`
      : await view.toImageURL("png", 2);
    view.background(before);
    await view.runAsync();
    const name = [figure.dataset.chart, figure.dataset.benchmark].filter(Boolean).join("-").replace(/[^\w.-]+/g, "-");
    hatscore.element("a", { href: uri, download: `${name}.${kind}` }).click();
  };

  const figures = [...document.querySelectorAll("figure[data-chart]")];
  for (const figure of figures) {
    figure.addEventListener("click", (event) => {
      const kind = event.target.closest("[data-save]")?.dataset.save;
      if (kind) save(figure, kind);
    });
  }
  return {
    refresh(state, kinds) {
      current = state;
      const wanted = figures.filter((figure) => !figure.closest("[hidden]") && (!kinds || kinds.includes(figure.dataset.chart)));
      queue = [...new Set([...queue, ...wanted])];
      delete document.documentElement.dataset.drawn;
      work();
    },
    views: drawn,
  };
};
