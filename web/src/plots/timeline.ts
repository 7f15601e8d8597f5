import type { PageConnection } from "../data";
import { el, svg } from "../dom";
import { clock, duration, mm } from "../format";
import { type Model, selectBody, selectLink } from "../model";
import type { Motion } from "../motion/motion";
import type { Store } from "../store";

/** When bodies were joined: one line a pair, for connections that hold for part of the take. */
export function timeline(model: Model, motion: Motion, store: Store): HTMLElement {
  const rows = new Map<string, { first: PageConnection; spans: PageConnection[] }>();
  for (const connection of model.data.connections) {
    const key = `${connection.child} ${connection.parent}`;
    const row = rows.get(key) ?? { first: connection, spans: [] };
    row.spans.push(connection);
    rows.set(key, row);
  }
  const list = el("ul", { class: "timeline" });
  const [start, length] = [motion.start, Math.max(1e-9, motion.end - motion.start)];
  for (const { first, spans } of rows.values()) {
    const { child, parent, joint } = first;
    const name = `${model.name(child)} – ${model.name(parent)}`;
    const track = svg("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    track.append(svg("rect", { class: "whole", x: 0, y: 4.4, width: 1000, height: 1.2 }));
    for (const span of spans) {
      const x = ((span.start - start) / length) * 1000;
      const bar = svg("rect", {
        class: "span",
        x,
        y: 0,
        width: Math.max(2, ((span.end - span.start) / length) * 1000),
        height: 10,
      });
      track.append(bar);
    }
    const each = spans.map((span) => `${clock(span.start, 1)} to ${clock(span.end, 1)}, ${mm(span.residual)} mm`);
    const sum = spans.reduce((seconds, span) => seconds + span.end - span.start, 0);
    const when = each.length > 3 ? `${each.length} times, ${duration(sum)} in all` : each.join("; ");
    const row = el(
      "button",
      { type: "button", title: `${name}: ${each.join("; ")}` },
      el("bdi", { class: "name", text: name }),
      el("span", {
        class: "quiet",
        text: joint !== null ? "joint" : model.body(child).figure === model.body(parent).figure ? "loop" : "contact",
      }),
      el("span", { class: "strip" }, track, el("i", { class: "head" })),
      el("span", { class: "quiet when", text: when }),
    );
    row.addEventListener("click", () => {
      const loop = model.data.loops.findIndex((l) => l.child === child && l.parent === parent);
      if (joint !== null) selectLink(store, model, joint);
      else if (loop >= 0) selectLink(store, model, model.data.joints.length + loop);
      else selectBody(store, model, child);
      store.set({ frame: motion.frameAt(first.start) });
    });
    list.append(el("li", {}, row));
  }
  store.watch(["frame"], (state) => {
    list.style.setProperty("--head", String((motion.timeAt(state.frame) - start) / length));
  });
  return list;
}
