"use strict";
// Sorting, filtering, tooltips and copying. Without it the page says the same.
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // --- copying: the clipboard where the browser gives it, else a selection, which Ctrl-C copies
  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  const copy = async (element, button) => {
    let done = false;
    try {
      await navigator.clipboard.writeText(element.textContent);
      done = true;
    } catch {
      select(element);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "copied" : "press Ctrl-C";
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  };
  for (const box of document.querySelectorAll(".code")) {
    const button = make("button", { type: "button", textContent: "copy" });
    button.setAttribute("aria-label", "copy to the clipboard");
    button.addEventListener("click", () => copy(box.querySelector("code"), button));
    box.classList.add("copyable");
    box.append(button);
  }

  // --- tables: a click on a heading sorts, a second one turns the order round
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (!("key" in cell.dataset)) return cell.textContent;
    if (cell.dataset.key === "") return null;
    const key = cell.dataset.key;
    return key === "inf" ? Infinity : Number(key);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => ({ row, place, key: keyOf(row, column) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
      return direction * compare(a.key, b.key) || a.place - b.place;
    });
    body.append(...rows.map((item) => item.row));
  };
  for (const table of document.querySelectorAll("table.data")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        sort(table, column, order === "ascending" ? 1 : -1);
      });
    });
    if ("filter" in table.dataset) filter(table);
  }
  function filter(table) {
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
    const input = make("input", { type: "search", placeholder: "filter: words" });
    input.setAttribute("aria-label", "show rows with these words");
    const shown = make("span", { className: "shown" });
    const only = make("input", { type: "checkbox" });
    const tools = make("div", { className: "tools" }, input);
    const red = rows.filter((item) => item.row.classList.contains("red")).length;
    if (red && red < rows.length) tools.append(make("label", {}, only, " findings only"));
    tools.append(shown);
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const { row, text } of rows) {
        const fits = words.every((word) => text.includes(word)) && (!only.checked || row.classList.contains("red"));
        row.classList.toggle("filtered", !fits);
        count += fits;
      }
      shown.textContent = count === rows.length ? `${rows.length} rows` : `${count} of ${rows.length} rows`;
    };
    input.addEventListener("input", apply);
    only.addEventListener("change", apply);
    table.parentElement.before(tools);
    apply();
  }

  // --- plots: the nearest dot says what it is; a click or a tap keeps that open, with the command
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let lit = null;
  const hide = () => {
    tip.hidden = true;
    tip.classList.remove("pinned");
    lit?.classList.remove("lit");
    lit = null;
  };
  const place = (x, y) => {
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(6, Math.min(x + 14, window.innerWidth - width - 6))}px`;
    tip.style.top = `${y + 16 + height > window.innerHeight ? Math.max(6, y - height - 12) : y + 16}px`;
  };
  const tell = (dot, event, pinned) => {
    lit?.classList.remove("lit");
    lit = dot.mark;
    lit.classList.add("lit");
    tip.replaceChildren(dot.text);
    if (dot.mark.dataset.trial) {
      const folder = dot.mark.closest("[data-place]").dataset.place;
      const command = make("code", { textContent: `ulpfuzz repro ${folder} ${dot.mark.dataset.trial}` });
      tip.append(command);
      if (pinned) {
        const button = make("button", { type: "button", textContent: "copy" });
        button.addEventListener("click", () => copy(command, button));
        tip.append(button);
      }
    }
    tip.hidden = false;
    tip.classList.toggle("pinned", pinned);
    place(event.clientX, event.clientY);
  };
  for (const plot of document.querySelectorAll("svg.scatter, svg.growth")) {
    const dots = [...plot.querySelectorAll("circle.dot")].map((mark) => {
      const title = mark.querySelector("title");
      const text = title ? title.textContent : "";
      title?.remove(); // else the browser shows it, too
      return { mark, text, x: Number(mark.getAttribute("cx")), y: Number(mark.getAttribute("cy")) };
    });
    const nearest = (event) => {
      const frame = plot.getBoundingClientRect();
      const scale = plot.viewBox.baseVal.width / frame.width;
      const x = (event.clientX - frame.left) * scale;
      const y = (event.clientY - frame.top) * scale;
      const reach = (event.pointerType === "touch" ? 24 : 9) * scale;
      let best = null;
      let least = reach * reach;
      for (const dot of dots) {
        const distance = (dot.x - x) ** 2 + (dot.y - y) ** 2;
        if (distance <= least && !dot.mark.classList.contains("faded")) {
          least = distance;
          best = dot;
        }
      }
      return best;
    };
    plot.addEventListener("pointermove", (event) => {
      if (tip.classList.contains("pinned")) return;
      const dot = nearest(event);
      if (dot) tell(dot, event, false);
      else hide();
    });
    plot.addEventListener("pointerleave", () => { if (!tip.classList.contains("pinned")) hide(); });
    plot.addEventListener("click", (event) => {
      const dot = nearest(event);
      if (dot) tell(dot, event, true);
      else hide();
      event.stopPropagation();
    });
  }
  tip.addEventListener("click", (event) => event.stopPropagation());
  document.addEventListener("click", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  for (const curve of document.querySelectorAll("polyline[data-tell]")) {
    curve.addEventListener("pointermove", (event) => {
      tip.replaceChildren(curve.dataset.tell);
      tip.hidden = false;
      place(event.clientX, event.clientY);
    });
    curve.addEventListener("pointerleave", hide);
  }

  // --- legends: a click hides a target in the plot below
  for (const key of document.querySelectorAll(".legend .key")) {
    key.setAttribute("role", "button");
    key.setAttribute("aria-pressed", "true");
    key.tabIndex = 0;
    const toggle = () => {
      const off = key.classList.toggle("off");
      key.setAttribute("aria-pressed", String(!off));
      const marks = key.closest("figure").querySelectorAll(`svg .dot.${key.dataset.colour}, svg .curve.${key.dataset.colour}`);
      for (const mark of marks) mark.classList.toggle("faded", off);
    };
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
  }

  // --- paper has no clicks: everything is open while it is printed
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
