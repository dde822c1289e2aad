hatscore.fields = ["benchmark", "model", "family", "script", "language"];

// Filters: one state for charts and tables, held in the address so that a link shows the same.
hatscore.filters = (form, changed) => {
  const picks = [...form.querySelectorAll("details.pick")];
  const boxes = (pick) => [...pick.querySelectorAll("input")];
  const chosen = (pick) => boxes(pick).filter((box) => box.checked).map((box) => box.value);

  const state = () => {
    const found = {};
    for (const pick of picks) {
      const values = chosen(pick);
      // all is no restriction: a link stays valid when models are added
      if (values.length < boxes(pick).length) found[pick.dataset.field] = new Set(values);
    }
    return found;
  };
  const tell = () => {
    for (const pick of picks) {
      const all = boxes(pick), values = chosen(pick);
      const narrowed = values.length < all.length;
      const name = pick.dataset.name;
      pick.classList.toggle("narrowed", narrowed);
      const label = values.length === 1 ? all.find((box) => box.checked).nextElementSibling.textContent : `${values.length} of ${all.length}`;
      pick.querySelector("summary").textContent = `${name}: ${narrowed ? label : `all ${all.length}`}`;
    }
  };
  const change = () => { tell(); changed(state()); };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", change);
  form.addEventListener("click", (event) => {
    const wanted = event.target.dataset?.set;
    if (!wanted) return;
    for (const box of boxes(event.target.closest("details"))) box.checked = wanted === "all";
    change();
  });
  for (const pick of picks) {
    pick.addEventListener("toggle", () => {
      if (pick.open) for (const other of picks) if (other !== pick) other.open = false;
    });
    pick.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !pick.open) return;
      pick.open = false;
      pick.querySelector("summary").focus();
    });
  }
  document.addEventListener("click", (event) => {
    for (const pick of picks) if (pick.open && !pick.contains(event.target)) pick.open = false;
  });
  return {
    state,
    tell,
    set(wanted) {
      for (const pick of picks) {
        const values = wanted[pick.dataset.field];
        for (const box of boxes(pick)) box.checked = values === undefined || values.has(box.value);
      }
      tell();
    },
  };
};

hatscore.passes = (row, state) =>
  hatscore.fields.every((field) => {
    const wanted = state[field];
    if (wanted === undefined || row.macro && (field === "language" || field === "script")) return true;
    return wanted.has(String(row[field]));
  });

// #section?model=a&model=b&sort=hat.descending: every part may be absent.
hatscore.address = {
  read() {
    const text = location.hash.replace(/^#/, "");
    const [section, query = ""] = text.split("?");
    const state = {}, rest = {};
    for (const [name, value] of new URLSearchParams(query)) {
      if (["sort", "profile", "theme", "names"].includes(name)) rest[name] = value;
      else if (hatscore.fields.includes(name)) (state[name] ??= new Set()).add(value);
    }
    // "none" of a field is written with an empty value
    for (const values of Object.values(state)) values.delete("");
    return { section, state, rest };
  },
  write(section, state, rest) {
    const query = new URLSearchParams();
    for (const [name, values] of Object.entries(state)) {
      if (values.size === 0) query.append(name, "");
      for (const value of values) query.append(name, value);
    }
    for (const [name, value] of Object.entries(rest)) if (value) query.set(name, value);
    const text = query.toString();
    const hash = section + (text ? `?${text}` : "");
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  },
};
