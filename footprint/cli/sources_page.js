
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const { columns, values } = JSON.parse(at("data").textContent);
  const count = values.length ? values[0].length : 0;
  const rings = [...document.querySelectorAll("#islands ellipse")];
  const PAGE = 100;
  let shown = [...Array(count).keys()];
  let sorted = -1, down = false, first = 0, chosen = -1, zoom = 1;

  // An element with words, never with markup: what was read from a file is only ever text.
  function made(tag, words, parent) {
    const element = document.createElement(tag);
    if (words !== undefined) element.textContent = words;
    if (parent) parent.append(element);
    return element;
  }

  function said(c, row) {
    const value = values[c][row];
    if (value === null) return "";
    if (columns[c].kind !== "float") return String(value);
    if (columns[c].places !== undefined) return value.toFixed(columns[c].places);
    return value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential(4) : String(+value.toPrecision(5));
  }

  const every = columns.map((_, c) => c);
  const few = every.filter((c) => columns[c].main !== null).sort((a, b) => columns[a].main - columns[b].main);
  const seen = () => (at("all").checked ? every : few);

  function draw() {
    const table = document.createElement("table"), head = made("tr", undefined, made("thead", undefined, table));
    for (const c of seen()) {
      const cell = made("th", columns[c].name + (c === sorted ? (down ? " \u25be" : " \u25b4") : ""), head);
      cell.tabIndex = 0;
      cell.dataset.column = c;
      cell.setAttribute("aria-sort", c === sorted ? (down ? "descending" : "ascending") : "none");
      if (columns[c].about) cell.title = columns[c].about;
      if (columns[c].unit) made("small", columns[c].unit, cell);
    }
    const body = made("tbody", undefined, table);
    first = Math.max(0, Math.min(first, Math.floor((shown.length - 1) / PAGE) * PAGE));
    for (const row of shown.slice(first, first + PAGE)) {
      const line = made("tr", undefined, body);
      line.tabIndex = 0;
      line.dataset.row = row;
      line.classList.toggle("on", row === chosen);
      for (const c of seen()) made("td", said(c, row), line).className = columns[c].kind === "text" ? "" : "n";
    }
    at("rows").replaceChildren(table);
    const last = Math.min(first + PAGE, shown.length);
    at("which").textContent = shown.length ? `${first + 1} to ${last} of ${shown.length}` : "none";
    at("before").disabled = first === 0;
    at("after").disabled = last >= shown.length;
  }

  function arrange() {
    shown.sort((a, b) => {
      if (sorted < 0) return a - b;
      const x = values[sorted][a], y = values[sorted][b];
      // What is not known comes last, either way.
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
    });
  }

  const COMPARE = {
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
    "=": (a, b) => a === b, "!=": (a, b) => a !== b,
  };

  // One word of the filter as a test of a row: snr>10, or letters of a name.
  function test(word) {
    const parts = /^([a-z_]\w*)(<=|>=|!=|=|<|>)(.+)$/i.exec(word);
    const c = parts ? columns.findIndex((one) => one.name === parts[1]) : -1;
    if (c >= 0 && columns[c].kind !== "text" && Number.isFinite(+parts[3])) {
      return (row) => values[c][row] !== null && COMPARE[parts[2]](values[c][row], +parts[3]);
    }
    const words = every.filter((k) => columns[k].kind === "text" || columns[k].name === "label");
    return (row) => words.some((k) => String(values[k][row]).toLowerCase().includes(word.toLowerCase()));
  }

  function filter() {
    const tests = at("filter").value.split(/\s+/).filter(Boolean).map(test);
    const passes = (row) => tests.every((one) => one(row));
    shown = [...Array(count).keys()].filter(passes);
    const kept = new Set(shown);
    rings.forEach((ring, row) => ring.classList.toggle("off", !kept.has(row)));
    first = 0;
    arrange();
    draw();
  }

  function centre(box, x, y) {
    box.scrollLeft = x - box.clientWidth / 2;
    box.scrollTop = y - box.clientHeight / 2;
  }

  function choose(row) {
    if (chosen >= 0) rings[chosen].classList.remove("on");
    chosen = row;
    at("chosen").replaceChildren();
    if (row < 0) return draw();
    rings[row].classList.add("on");
    columns.forEach((column, c) => {
      const line = made("div", undefined, at("chosen"));
      made("span", column.name, line);
      made("span", `${said(c, row)} ${column.unit}`, line);
    });
    const place = shown.indexOf(row);
    if (place >= 0) first = Math.floor(place / PAGE) * PAGE;
    draw();
  }

  function follow() {
    const line = at("rows").querySelector("tr.on");
    if (line) centre(at("rows"), 0, line.offsetTop);
  }

  function look() {
    if (chosen < 0) return;
    const box = at("view"), ring = rings[chosen], scale = at("sky").getBoundingClientRect().width / at("sky").viewBox.baseVal.width;
    centre(box, ring.cx.baseVal.value * scale, ring.cy.baseVal.value * scale);
  }

  function scale(factor) {
    const box = at("view"), old = zoom;
    const x = (box.scrollLeft + box.clientWidth / 2) / old, y = (box.scrollTop + box.clientHeight / 2) / old;
    zoom = Math.max(1, Math.min(32, zoom * factor));
    at("sky").style.width = `${100 * zoom}%`;
    centre(box, x * zoom, y * zoom);
    look();
  }

  // A press of Enter on a row or a head is a click on it.
  function pressed(element, act) {
    element.addEventListener("click", act);
    element.addEventListener("keydown", (event) => { if (event.key === "Enter") act(event); });
  }

  pressed(at("rows"), (event) => {
    const head = event.target.closest("th"), line = event.target.closest("tbody tr");
    if (head) {
      const c = +head.dataset.column;
      down = c === sorted ? !down : columns[c].kind === "float";
      sorted = c;
      arrange();
      draw();
      at("rows").querySelector(`th[data-column="${c}"]`).focus();
    } else if (line) {
      choose(+line.dataset.row);
      look();
      at("rows").querySelector("tr.on").focus({ preventScroll: true });
    }
  });
  at("sky").addEventListener("click", (event) => {
    const ring = event.target.closest("ellipse");
    choose(ring ? rings.indexOf(ring) : -1);
    follow();
  });
  at("filter").addEventListener("input", filter);
  at("all").addEventListener("change", draw);
  at("before").addEventListener("click", () => { first -= PAGE; draw(); });
  at("after").addEventListener("click", () => { first += PAGE; draw(); });
  at("closer").addEventListener("click", () => scale(2));
  at("wider").addEventListener("click", () => scale(0.5));
  draw();
})();
