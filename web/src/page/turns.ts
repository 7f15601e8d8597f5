import { NEEDED_TURN_DEG, type PageTurn } from "../data";
import { el } from "../dom";
import { degrees } from "../format";
import { type Model, selectBody } from "../model";
import type { Store } from "../store";

const NEEDED = (NEEDED_TURN_DEG * Math.PI) / 180;

/** What moved by how much, against what is needed: a bar a body, the mark where it would do. */
export function turnsPart(model: Model, store: Store): HTMLElement {
  const most = Math.max(NEEDED * 1.25, ...model.data.turns.map(({ turned }) => turned));
  return el("div", { class: "turns" }, ...model.data.turns.map((turn) => turnLine(turn, most, model, store)));
}

function turnLine(turn: PageTurn, most: number, model: Model, store: Store): HTMLElement {
  const { body, other, turned } = turn;
  const short = turned < NEEDED;
  const bar = el("i", { class: "bar" }, el("b"), el("u"));
  bar.style.setProperty("--share", String(turned / most));
  bar.style.setProperty("--needed", String(NEEDED / most));
  const line = el(
    "button",
    { type: "button", class: `turn ${short ? "short" : ""}`, title: "Show it" },
    el("bdi", { class: "name", text: model.name(body) }),
    bar,
    el("span", { class: "number" }, el("b", { text: degrees(turned) }), ` of ${NEEDED_TURN_DEG}°`),
    el("span", { class: "quiet" }, " against ", el("bdi", { text: model.name(other) })),
  );
  line.addEventListener("click", () => selectBody(store, model, body));
  return line;
}
