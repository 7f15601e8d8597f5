import { at } from "../at";
import type { PageFinding } from "../data";
import { el } from "../dom";
import { clock } from "../format";
import { type Model, selectBody } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { sentence } from "./sentence";

const SIGNS = { error: "■", warning: "▲", info: "○" } as const;

/** What findings of one cause are about. */
const CAUSES: Readonly<Record<string, string>> = {
  tree: "Which bodies are joined",
  motion: "Motion",
  mounting: "How sensors are mounted",
  files: "Files",
  sensors: "Sensors",
  exchange: "Exchanged sensors",
  worlds: "Worlds",
  field: "The field of the room",
  size: "Size",
  export: "Exports",
  recording: "The recording",
};

/** Findings by their cause in order of what to do first; what is only to be known is folded up by its kind. */
export function findingsPart(model: Model, motion: Motion | null, store: Store): HTMLElement {
  const { findings } = model.data;
  const pressing = findings.filter((finding) => finding.severity !== "info");
  const notes = findings.filter((finding) => finding.severity === "info");
  const part = el("section", { class: "findings", "aria-labelledby": "findings-title" });
  part.append(el("h2", { id: "findings-title", text: pressing.length ? `To do first` : "Findings" }));
  for (const [cause, members] of grouped(pressing, (finding) => finding.cause)) {
    const cards = members.map((finding) => el("li", {}, card(finding, model, motion, store)));
    part.append(el("h3", { class: "cause", text: CAUSES[cause] ?? cause }), el("ol", { class: "pressing" }, ...cards));
  }
  if (pressing.length === 0) part.append(el("p", { class: "calm", text: "Nothing to do." }));
  if (notes.length) part.append(noted(notes, model, motion, store, pressing.length === 0));
  return part;
}

function grouped(findings: readonly PageFinding[], key: (one: PageFinding) => string): Map<string, PageFinding[]> {
  const groups = new Map<string, PageFinding[]>();
  for (const one of findings) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}

function noted(
  notes: readonly PageFinding[],
  model: Model,
  motion: Motion | null,
  store: Store,
  open: boolean,
): HTMLElement {
  const groups = grouped(notes, (note) => note.code);
  const list = el("div", { class: "notes" }, el("h3", { text: "Good to know" }));
  for (const members of groups.values()) {
    const cards = members.map((member) => card(member, model, motion, store));
    if (cards.length === 1) {
      list.append(...cards);
      continue;
    }
    const details = el(
      "details",
      {},
      el(
        "summary",
        {},
        el("span", { class: "sign", text: SIGNS.info }),
        `${at(members, 0).title} `,
        el("span", { class: "quiet", text: `× ${members.length}` }),
      ),
    );
    details.append(...cards);
    list.append(details);
  }
  if (open && groups.size === 1) list.querySelector("details")?.setAttribute("open", "");
  return list;
}

function card(finding: PageFinding, model: Model, motion: Motion | null, store: Store): HTMLElement {
  const names = model.data.bodies.map((body) => body.name);
  const words = (told: string): Node[] => sentence(told, names);
  const head = el(
    "span",
    { class: "code" },
    el("span", { class: "sign", text: SIGNS[finding.severity] }),
    el("span", { class: "off-screen", text: `${finding.severity}: ` }),
    el("span", { class: "deed" }, ...words(finding.title)),
  );
  if (finding.time) {
    const [start, end] = finding.time;
    head.append(
      el("span", {
        class: "when",
        text: end - start > 0.05 ? `${clock(start, 1)} – ${clock(end, 1)}` : clock(start, 1),
      }),
    );
  }
  const text = el("span", { class: "text" }, ...words(finding.text));
  const goes = finding.bodies.length > 0 || finding.time !== null;
  if (!goes) return el("div", { class: `finding ${finding.severity}` }, head, text);
  const element = el(
    "button",
    { type: "button", class: `finding ${finding.severity}`, title: `Show it (${finding.code})` },
    head,
    text,
  );
  element.addEventListener("click", () => {
    const [body] = finding.bodies;
    if (body !== undefined) selectBody(store, model, body);
    if (finding.time && motion) store.set({ frame: motion.frameAt(finding.time[0]) });
  });
  store.watch(["body"], (state) =>
    element.classList.toggle("of-selected", state.body !== null && finding.bodies.includes(state.body)),
  );
  return element;
}
