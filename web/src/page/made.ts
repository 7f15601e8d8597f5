import { el } from "../dom";
import { visibly } from "../format";
import type { Model } from "../model";

/** How it was made: enough to make it again. */
export function madePart(model: Model): HTMLElement {
  const { data } = model;
  const part = el("div", { class: "made" });
  for (const { group, rows } of data.made) {
    const list = el("dl");
    for (const [label, value] of rows)
      list.append(el("dt", { text: visibly(label) }), el("dd", {}, el("bdi", { text: visibly(value) })));
    part.append(el("section", {}, el("h3", { text: visibly(group) }), list));
  }
  return part;
}
