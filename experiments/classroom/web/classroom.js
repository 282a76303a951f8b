// Puts the panels on the page: sliders, charts, questions.

import { Replay } from "./events.js";
import { Player } from "./player.js";
import { chart } from "./chart.js";
import { QUEUE_PANELS, LAST_PANEL } from "./queue_panels.js";
import { FILM_PANELS } from "./film_panels.js";

const number = (value) => String(Number(Number(value).toPrecision(4)));

function element(tag, properties = {}, children = []) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function slider(panel, spec, values, redraw) {
  const id = `${panel.id}-${spec.name}`;
  const output = element("output", { htmlFor: id });
  const input = element("input", { type: "range", id });
  const show = () => {
    const value = spec.values ? spec.values[Number(input.value)] : Number(input.value);
    values[spec.name] = value;
    output.textContent = spec.names ? spec.names[value] : number(value);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  if (spec.values) Object.assign(input, { min: 0, max: spec.values.length - 1, step: 1, value: spec.values.indexOf(spec.value) });
  else Object.assign(input, { min: spec.min, max: spec.max, step: spec.step, value: spec.value });
  input.addEventListener("input", () => { show(); redraw(); });
  show();
  return element("div", { className: "slider" }, [element("label", { htmlFor: id, textContent: spec.label }), output, input]);
}

function ending(panel) {
  const [[language, text]] = Object.entries(panel.how);
  const lines = element("pre", { className: "how", tabIndex: 0 }, [element("code", { className: language, textContent: text })]);
  return [
    element("details", { className: "question" }, [element("summary", { textContent: panel.question }), element("p", { textContent: panel.answer })]),
    element("p", { className: "yourself", textContent: language === "sh" ? "Compute it yourself, on the command line:" : "Compute it yourself, in Python:" }),
    lines,
  ];
}

function heading(panel, k) {
  return [
    element("h2", { id: `${panel.id}-title`, textContent: `${k}. ${panel.title}` }),
    element("p", { className: "text", textContent: panel.text }),
  ];
}

function section(panel, children) {
  const made = element("section", { id: panel.id, className: "panel" }, children);
  made.setAttribute("aria-labelledby", `${panel.id}-title`);
  return made;
}

function queuePanel(panel, k, data) {
  const values = {};
  let seed = 1;
  const charts = element("div", { className: "charts" });
  const facts = element("ul", { className: "facts" });
  facts.setAttribute("aria-live", "polite");
  const redraw = () => {
    const found = panel.plot(values, data, seed);
    charts.innerHTML = found.charts.map(chart).join("");
    facts.replaceChildren(...found.facts.map((text) => element("li", { textContent: text })));
    window.classroom[panel.id] = { values: { ...values }, seed, ...found };
  };
  const sliders = panel.sliders.map((spec) => slider(panel, spec, values, redraw));
  const again = element("button", { type: "button", textContent: "Run it again with new random numbers" });
  again.addEventListener("click", () => { seed += 1; redraw(); });
  const left = element("div", { className: "left" }, [
    ...heading(panel, k), ...sliders, ...(panel.again ? [again] : []),
  ]);
  const [question, ...how] = ending(panel);
  const rest = element("div", { className: "rest" }, [facts, question]);
  redraw();
  return section(panel, [left, charts, rest, element("div", { className: "below" }, how)]);
}

function filmPanel(panel, k, data) {
  const films = panel.films.filter(([name]) => data.films[name]).map(([name, title]) => {
    const root = element("div", { className: "film", id: `film-${name}` });
    root.innerHTML = document.getElementById("player-body").innerHTML;
    if (title) root.prepend(element("h3", { textContent: title }));
    root.tabIndex = -1;
    root.dataset.film = name;
    return root;
  });
  const made = section(panel, [element("div", { className: "whole" }, [...heading(panel, k), ...films, ...ending(panel)])]);
  made.classList.add("wide");
  made.start = () => films.forEach((root) => {
    window.classroom[root.dataset.film] = new Player(new Replay(data.films[root.dataset.film]), root);
  });
  return made;
}

const stage = document.getElementById("panels");
if (stage) {
  const data = JSON.parse(document.getElementById("classroom-data").textContent);
  window.classroom = { data };
  const panels = [
    ...QUEUE_PANELS.map((panel) => [panel, queuePanel]), ...FILM_PANELS.filter((panel) => panel.films.some(([name]) => data.films[name])).map((panel) => [panel, filmPanel]),
    [LAST_PANEL, queuePanel],
  ];
  const contents = document.getElementById("contents");
  panels.forEach(([panel, build], i) => {
    const made = build(panel, i + 1, data);
    stage.append(made);
    if (made.start) made.start();
    contents.append(element("li", {}, [element("a", { href: `#${panel.id}`, textContent: panel.title })]));
  });
}
