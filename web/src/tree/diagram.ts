import { at, last, lookup } from "../at";
import { type PageJoint, SURE_SUPPORT } from "../data";
import { contextOf, el, styleValue, svg } from "../dom";
import { mm, share, short } from "../format";
import { type Model, selectBody, selectLink } from "../model";
import type { Store } from "../store";
import { layoutOf } from "./layout";

/** The tree with the support of each edge; the edges that may stand in its place, and loops, on request. */
export function treeDiagram(model: Model, store: Store): HTMLElement {
  const layout = layoutOf(model);
  const names = model.names.map((name) => short(name, 22));
  const font = 0.94 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const row = 2 * font;
  const widths = textWidths(names, font);
  const columns: { readonly left: number; readonly wide: number }[] = [];
  let right = font;
  for (let depth = 0; depth <= layout.depth; depth++) {
    const column = layout.nodes.filter((node) => node.depth === depth);
    const wide = Math.max(0, ...column.map((node) => at(widths, node.body)));
    columns.push({ left: right, wide });
    right += wide + 7.6 * font;
  }
  const spots = new Map(
    layout.nodes.map(({ body, depth, row: place }) => [
      body,
      { x: at(columns, depth).left, y: 1.3 * font + place * row },
    ]),
  );
  const spot = (body: number): { readonly x: number; readonly y: number } => lookup(spots, body);
  const width = last(columns).left + last(columns).wide + 3 * font;
  const height = Math.max(row, layout.rows * row) + font;
  const edges = svg("g", { class: "edges" });
  const extras = svg("g", { class: "extras" });
  const dots = svg("g");
  const end = (body: number): number => spot(body).x + 1.1 * font + at(widths, body);
  const edgeOf = new Map<number, SVGElement>();
  model.data.joints.forEach((joint, j) => {
    const from = { x: end(joint.parent), y: spot(joint.parent).y };
    const to = spot(joint.child);
    const bend = to.x - 4.6 * font;
    const thin = joint.support !== null && joint.support < SURE_SUPPORT;
    const g = svg("g", { class: thin ? "edge thin" : "edge" });
    g.append(
      svg("path", {
        d: `M${from.x} ${from.y} H${bend - font} C${bend} ${from.y} ${bend - font} ${to.y} ${bend} ${to.y} H${to.x - font / 2}`,
      }),
    );
    const text = joint.support === null ? "" : share(joint.support);
    g.append(
      svg("text", {
        class: "support",
        x: to.x - font,
        y: to.y - 0.3 * font,
        "text-anchor": "end",
        text: thin ? `▲ ${text}` : text,
      }),
    );
    const others = joint.rivals.map((pair) => ` or ${pair.map((b) => model.name(b)).join(" – ")}`).join("");
    g.append(
      svg("title", {
        text: `${model.name(joint.child)} on ${model.name(joint.parent)}${others}: gap ${mm(joint.residual)} mm, support ${share(joint.support)}`,
      }),
    );
    g.addEventListener("click", () => selectLink(store, model, j));
    edgeOf.set(joint.child, g);
    edges.append(g);
  });
  const arc = (a: number, b: number, kind: string, title: string): SVGElement => {
    const [p, q] = [spot(a), spot(b)];
    const out = Math.min(90, 24 + Math.abs(p.y - q.y) * 0.3 + Math.abs(p.x - q.x) * 0.15);
    const path = svg("path", {
      class: kind,
      d: `M${p.x} ${p.y} C${p.x - out} ${p.y + (q.y - p.y) * 0.25} ${q.x - out} ${q.y - (q.y - p.y) * 0.25} ${q.x} ${q.y}`,
    });
    path.append(svg("title", { text: title }));
    return path;
  };
  model.data.joints.forEach((joint) => {
    for (const [a, b] of joint.rivals) {
      const path = arc(
        a,
        b,
        "runner",
        `${model.name(a)} – ${model.name(b)}, instead of ${model.name(joint.child)} – ${model.name(joint.parent)}`,
      );
      path.dataset.child = String(joint.child);
      extras.append(path);
    }
  });
  model.data.loops.forEach((loop) => {
    extras.append(
      arc(
        loop.child,
        loop.parent,
        "loop",
        `loop: ${model.name(loop.child)} – ${model.name(loop.parent)}, gap ${mm(loop.residual)} mm`,
      ),
    );
  });
  const nodes = new Map<number, SVGElement>();
  for (const { body } of layout.nodes) {
    const { x, y } = spot(body);
    const { root, figure } = model.body(body);
    const own = model.ownJoint(body);
    const told = own === null ? (root ? "root" : "joined to nothing") : edgeInWords(model, model.link(own));
    const g = svg("g", {
      class: figure < 0 ? "node loose" : "node",
      role: "button",
      tabindex: 0,
      "aria-label": `${model.name(body)}, ${told}`,
    });
    g.append(
      svg("rect", {
        class: "hit",
        x: x - 0.7 * font,
        y: y - 0.95 * font,
        width: end(body) - x + 0.9 * font,
        height: 1.9 * font,
        rx: 4,
      }),
      root
        ? svg("rect", { class: "dot", x: x - 0.35 * font, y: y - 0.35 * font, width: 0.7 * font, height: 0.7 * font })
        : svg("circle", { class: "dot", cx: x, cy: y, r: 0.35 * font }),
      svg("text", { class: "name", x: x + 0.9 * font, y: y + 0.33 * font, text: at(names, body) }),
      svg("title", { text: `${model.name(body)}: ${told}` }),
    );
    g.addEventListener("click", () => selectBody(store, model, body));
    g.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      selectBody(store, model, body);
    });
    nodes.set(body, g);
    dots.append(g);
  }
  const picture = svg(
    "svg",
    {
      class: "tree",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Tree of bodies",
      "font-size": font,
    },
    extras,
    edges,
    dots,
  );
  store.watch(["body"], (state) => {
    nodes.forEach((g, body) => g.classList.toggle("selected", body === state.body));
    edgeOf.forEach((g, child) => g.classList.toggle("selected", child === state.body));
    for (const path of extras.querySelectorAll<SVGElement>(".runner"))
      path.classList.toggle("selected", Number(path.dataset.child) === state.body);
  });
  const box = el(
    "div",
    { class: "tree-box" },
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree" }, picture),
  );
  box.prepend(toggles(model, picture));
  return box;
}

function edgeInWords(model: Model, { parent, residual, support }: PageJoint): string {
  return `on ${model.name(parent)}, gap ${mm(residual)} mm, support ${share(support)}`;
}

function textWidths(names: readonly string[], font: number): number[] {
  const context = contextOf(document.createElement("canvas"));
  context.font = `650 ${font}px ${styleValue("--sans")}`;
  return names.map((name) => context.measureText(name).width);
}

function toggles(model: Model, picture: SVGElement): HTMLElement {
  const tools = el("div", { class: "tools" });
  const toggle = (label: string, kind: string, count: number): void => {
    if (count === 0) return;
    const input = el("input", { type: "checkbox" });
    input.addEventListener("change", () => picture.classList.toggle(kind, input.checked));
    tools.append(el("label", { class: "check" }, input, ` ${label}`));
  };
  toggle("edges in question", "with-runners", model.data.joints.filter((joint) => joint.rivals.length > 0).length);
  toggle("loops", "with-loops", model.data.loops.length);
  return tools;
}
