import { at } from "../at";
import { el } from "../dom";
import { degrees, mm, NONE, share } from "../format";
import type { Model } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";
import { alarm } from "../tables/tables";

/** What is selected, in a few numbers beside the figure. */
export function selectionPart(model: Model, motion: Motion | null, store: Store): HTMLElement {
  const part = el("section", { class: "selection", "aria-label": "Selected", "aria-live": "off" });
  const now = el("b");
  const counted = el("span", { text: "gap now" });
  store.watch(["body", "link"], (state) => {
    if (state.body === null) {
      part.replaceChildren(el("p", { class: "quiet", text: "Click a joint, a limb or a name to see its numbers." }));
      return;
    }
    const own = state.link !== null && model.link(state.link).child === state.body ? state.link : null;
    part.replaceChildren(
      ...(own === null ? [] : ofLink(model, own, now, counted)),
      ...ofBody(model, state.body, own === null),
    );
  });
  const tell = (): void => {
    const { link, frame } = store.state;
    const there = link !== null && motion !== null;
    const gap = there ? at(motion.gap(link), frame) : NaN;
    const left = there && !Number.isNaN(gap) && motion.weight(link)[frame] === 0;
    counted.textContent = left ? "now, not counted" : "gap now";
    now.textContent = Number.isNaN(gap) ? NONE : mm(gap, gap < 1e-4 ? undefined : 1);
  };
  store.watch(["frame", "link"], tell);
  motion?.onArrival(tell);
  return part;
}

function entry(label: Node | string, value: Node | string, unit = ""): HTMLElement {
  return el(
    "div",
    {},
    el("dt", {}, label),
    el("dd", {}, typeof value === "string" ? el("b", { text: value }) : value, unit ? ` ${unit}` : null),
  );
}

function wide(label: string, value: string, unit: string): HTMLElement {
  const made = entry(label, value, unit);
  made.className = "wide";
  return made;
}

function ofLink(model: Model, link: number, now: HTMLElement, counted: HTMLElement): HTMLElement[] {
  const joint = model.link(link);
  const kind = model.isLoop(link) ? `loop, ${joint.kind}` : `${joint.kind} joint`;
  const numbers = el(
    "dl",
    {},
    entry("rms gap", mm(joint.residual), "mm"),
    entry("explained", mm(joint.explained), joint.explained === null ? "" : "mm"),
    entry(counted, now, "mm"),
    entry(
      "place, 95 %",
      joint.half_width === null ? mm(null) : `± ${mm(joint.half_width)}`,
      joint.half_width === null ? "" : "mm",
    ),
    entry("support", share(joint.support)),
    wide("turned", joint.rotation.map((angle) => degrees(angle)).join(" / "), "deg"),
  );
  if (joint.play !== null) numbers.append(entry("play", degrees(joint.play), "deg"));
  const parts = [
    el(
      "h3",
      {},
      el("bdi", { text: model.linkName(link) }),
      el("span", { class: "quiet" }, ` ${kind} on `, el("bdi", { text: model.name(joint.parent) })),
    ),
    numbers,
  ];
  if (joint.verdict !== "enough") parts.push(el("p", { class: alarm(joint), text: joint.advice || joint.verdict }));
  return parts;
}

function ofBody(model: Model, body: number, alone: boolean): HTMLElement[] {
  const { root, world, figure, masked, noise_position, noise_orientation } = model.body(body);
  const what = world ? "the room" : root ? "root" : figure < 0 ? "joined to nothing" : "body";
  const parts: HTMLElement[] = [];
  if (alone) {
    parts.push(el("h3", {}, el("bdi", { text: model.name(body) }), el("span", { class: "quiet", text: ` ${what}` })));
  }
  const told: string[] = [];
  if (noise_position !== null) {
    told.push(
      `sensor noise ${mm(noise_position)} mm${noise_orientation === null ? "" : `, ${degrees(noise_orientation)}°`}`,
    );
  }
  if (masked > 0) told.push(`${masked} of ${model.data.frames} frames did not count`);
  if (told.length) parts.push(el("p", { class: "quiet", text: told.join("; ") }));
  return parts;
}
