import type { PageFinding } from "../data";
import { el } from "../dom";
import { clock } from "../format";
import { type Model, selectBody } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { sentence } from "./sentence";

const SIGNS = { error: "■", warning: "▲", info: "○" } as const;

/** Findings in order of what to do first; what is only to be known is folded up by its code. */
export function findingsPart(model: Model, motion: Motion | null, store: Store): HTMLElement {
  const { findings } = model.data;
  const pressing = findings.filter((finding) => finding.severity !== "info");
  const notes = findings.filter((finding) => finding.severity === "info");
  const part = el("section", { class: "findings", "aria-labelledby": "findings-title" });
  part.append(el("h2", { id: "findings-title", text: pressing.length ? `To do first` : "Findings" }));
  if (pressing.length)
    part.append(
      el("ol", { class: "pressing" }, ...pressing.map((finding) => el("li", {}, card(finding, model, motion, store)))),
    );
  else part.append(el("p", { class: "calm", text: "Nothing to do." }));
  if (notes.length) part.append(noted(notes, model, motion, store, pressing.length === 0));
  return part;
}

function noted(
  notes: readonly PageFinding[],
  model: Model,
  motion: Motion | null,
  store: Store,
  open: boolean,
): HTMLElement {
  const groups = new Map<string, PageFinding[]>();
  for (const note of notes) groups.set(note.code, [...(groups.get(note.code) ?? []), note]);
  const list = el("div", { class: "notes" }, el("h3", { text: "Good to know" }));
  for (const [code, members] of groups) {
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
        `${plain(code)} `,
        el("span", { class: "quiet", text: `× ${members.length}` }),
      ),
    );
    details.append(...cards);
    list.append(details);
  }
  if (open && groups.size === 1) list.querySelector("details")?.setAttribute("open", "");
  return list;
}

/** "gap-inferred" as words. */
function plain(code: string): string {
  const words = code.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function card(finding: PageFinding, model: Model, motion: Motion | null, store: Store): HTMLElement {
  const head = el(
    "span",
    { class: "code" },
    el("span", { class: "sign", text: SIGNS[finding.severity] }),
    el("span", { class: "off-screen", text: `${finding.severity}: ` }),
    finding.code,
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
  const text = el(
    "span",
    { class: "text" },
    ...sentence(
      finding.text,
      model.data.bodies.map((body) => body.name),
    ),
  );
  const goes = finding.bodies.length > 0 || finding.time !== null;
  if (!goes) return el("div", { class: `finding ${finding.severity}` }, head, text);
  const element = el("button", { type: "button", class: `finding ${finding.severity}`, title: "Show it" }, head, text);
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
