import { el } from "../dom";
import { count, duration, mm } from "../format";
import { type Model, selectLink } from "../model";
import { median } from "../quantile";
import type { Store } from "../store";
import { sentence } from "./sentence";

/** The sentence and the few numbers that are read from across the room. */
export function verdictPart(model: Model, store: Store): HTMLElement {
  const { data } = model;
  const sign = { good: "✓", look: "▲", bad: "■" }[data.verdict.tone];
  const said = { good: "Good", look: "Look", bad: "Not to use" }[data.verdict.tone];
  return el(
    "section",
    { class: `verdict-part ${data.verdict.tone}`, "aria-label": "Verdict" },
    el(
      "p",
      { class: "sentence" },
      el("span", { class: "sign", role: "img", "aria-label": said, text: sign }),
      el(
        "span",
        {},
        ...sentence(
          data.verdict.text,
          data.bodies.map((body) => body.name),
        ),
      ),
    ),
    el("dl", { class: "numbers" }, ...numbers(model, store)),
  );
}

function numbers(model: Model, store: Store): HTMLElement[] {
  const { data, worst } = model;
  const figures = new Set(data.bodies.filter((body) => body.figure >= 0).map((body) => body.figure)).size;
  const loose = data.bodies.filter((body) => body.figure < 0 && !body.world).length;
  const entry = (value: string, unit: string, label: string | Node): HTMLElement =>
    el("div", {}, el("dt", {}, label), el("dd", {}, el("b", { text: value }), unit ? ` ${unit}` : null));
  const sensors = data.bodies.filter((body) => !body.world).length;
  const out = [entry(String(sensors), "", sensors === 1 ? "sensor" : "sensors")];
  if (data.joints.length > 0) out.push(entry(`${data.verdict.sure} of ${data.joints.length}`, "", "joints sure"));
  if (figures > 1) out.push(entry(String(figures), "", "figures"));
  if (loose > 0) out.push(entry(String(loose), "", "loose"));
  out.push(timeEntry(data.seconds, data.motion?.timed !== false, data.frames, entry));
  const { length_95 } = data.verdict;
  if (length_95 !== null) {
    const digits = length_95 < 0.01 ? 2 : length_95 < 0.1 ? 1 : 0;
    out.push(entry(`± ${(length_95 * 100).toFixed(digits)}`, "%", "worst length, 95\u00a0%"));
  }
  if (worst !== null) {
    const jump = el(
      "button",
      { type: "button", class: "inline", title: "Select this joint" },
      "worst joint, ",
      el("bdi", { text: model.linkName(worst) }),
    );
    jump.addEventListener("click", () => selectLink(store, model, worst));
    out.push(entry(mm(model.link(worst).residual), "mm", jump));
    const residuals = data.joints.map((joint) => joint.residual);
    if (residuals.length > 2) out.push(entry(mm(median(residuals)), "mm", "usual joint"));
  }
  const halves = data.limbs.flatMap((limb) =>
    limb.low === null || limb.high === null ? [] : [(limb.high - limb.low) / 2],
  );
  if (halves.length) out.push(entry(`± ${mm(median(halves))}`, "mm", "usual length, 95\u00a0%"));
  return out;
}

function timeEntry(
  seconds: number,
  timed: boolean,
  frames: number,
  entry: (value: string, unit: string, label: string) => HTMLElement,
): HTMLElement {
  if (!timed) return entry(count(frames), "", "frames, no time");
  const [value = "", ...unit] = duration(seconds).split(" ");
  return entry(value, unit.join(" "), `${count(frames)} frames`);
}
