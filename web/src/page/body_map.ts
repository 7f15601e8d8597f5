import type { PageJoint, PageLimb } from "../data";
import { el, svg } from "../dom";
import { mm, roundEnd } from "../format";
import { type Model, selectBody } from "../model";
import type { Motion } from "../motion/motion";
import { BodyPoses } from "../scene/body_poses";
import { ramp } from "../scene/colours";
import { likelyUp } from "../scene/upright";
import type { Store } from "../store";
import type { Vector } from "../vector";
import type { Theme } from "./theme";

const WIDTH = 320; // px of the drawing's own
const MARGIN = 26;

interface Drawn {
  readonly limb: PageLimb;
  /** whether it is the only length on its body, and so has room for its number */
  readonly alone: boolean;
  readonly ends: readonly [Vector, Vector];
}

/** The limbs of the figure as it stands in one frame, coloured by how well their length is known. */
export function bodyMap(model: Model, motion: Motion, store: Store, theme: Theme): HTMLElement | null {
  const drawn = limbsIn(model, motion, store.state.frame);
  if (drawn.length === 0) return null;
  const flat = flatten(
    drawn.flatMap(({ ends }) => ends),
    motion.page.up ?? likelyUp(motion.pointsAt(store.state.frame)),
  );
  const halves = drawn.flatMap(({ limb }) => halfOf(limb) ?? []);
  const end = roundEnd(Math.max(1e-6, ...halves));
  const picture = svg("svg", { class: "body-map", viewBox: `0 0 ${WIDTH} ${flat.height}`, role: "img" });
  picture.setAttribute("aria-label", "Limbs, coloured by the interval of their length; the table has the numbers");
  const legend = el("p", { class: "quiet map-legend" });
  const paint = (): void => {
    picture.replaceChildren(...drawn.map((one, i) => limbLine(one, flat.points.slice(2 * i, 2 * i + 2), end)));
    picture.append(...drawn.flatMap((one, i) => limbName(one, flat.points.slice(2 * i, 2 * i + 2))));
    legend.replaceChildren(
      "± 0 ",
      ...swatches(),
      ` ± ${mm(end)} mm, half of the 95 % interval; dashed: not determined`,
    );
    mark();
  };
  const mark = (): void => {
    for (const line of picture.querySelectorAll<SVGElement>("[data-body]"))
      line.classList.toggle("selected", line.dataset.body === String(store.state.body));
  };
  picture.addEventListener("click", (event) => {
    const body = (event.target as SVGElement).dataset.body;
    if (body !== undefined) selectBody(store, model, Number(body));
  });
  paint();
  theme.onChange(paint);
  store.watch(["body"], mark);
  return el("figure", { class: "map" }, picture, legend);
}

/** Where the lengths lie in a frame of the played motion. */
function limbsIn(model: Model, motion: Motion, frame: number): Drawn[] {
  const poses = motion.poses(frame);
  if (poses === null) return [];
  const bodies = new BodyPoses(model.bodies.length, "played");
  bodies.read(poses, frame - poses.first, 1);
  const on = (joint: PageJoint, body: number): Vector | null =>
    joint.child === body ? joint.p_child_joint : joint.parent === body ? joint.p_parent_joint : null;
  return model.data.limbs.flatMap((limb): Drawn[] => {
    const points = [limb.from_joint, limb.to_joint].map((joint): Vector | null => {
      const local = on(model.link(joint), limb.body);
      if (local === null || !bodies.shows[limb.body]) return null;
      const point: [number, number, number] = [0, 0, 0];
      bodies.point(limb.body, local, point);
      return point;
    });
    const [a, b] = points;
    const alone = model.data.limbs.filter(({ body }) => body === limb.body).length === 1;
    return a && b ? [{ limb, alone, ends: [a, b] }] : [];
  });
}

/** Points as seen from the side on which they are widest, upright, and the height that they need. */
export function flatten(points: readonly Vector[], up: string): { points: [number, number][]; height: number } {
  const sign = up.startsWith("-") ? -1 : 1;
  const axis = "xyz".indexOf(up.replace("-", ""));
  const level = [0, 1, 2].filter((x) => x !== axis) as [number, number];
  const mean = level.map((x) => points.reduce((sum, p) => sum + (p[x] ?? 0), 0) / points.length);
  let [xx, xy, yy] = [0, 0, 0];
  for (const p of points) {
    const [u, v] = level.map((x, k) => (p[x] ?? 0) - (mean[k] ?? 0)) as [number, number];
    xx += u * u;
    xy += u * v;
    yy += v * v;
  }
  const turn = 0.5 * Math.atan2(2 * xy, xx - yy); // of the direction in which they spread most
  const across = (p: Vector): number => (p[level[0]] ?? 0) * Math.cos(turn) + (p[level[1]] ?? 0) * Math.sin(turn);
  const seen = points.map((p): [number, number] => [across(p), -sign * (p[axis] ?? 0)]);
  const [low, high] = [0, 1].map((k) => {
    const values = seen.map((p) => p[k] ?? 0);
    return [Math.min(...values), Math.max(...values)];
  }) as [[number, number], [number, number]];
  const [wide, tall] = [low[1] - low[0], high[1] - high[0]];
  const scale = (WIDTH - 2 * MARGIN) / Math.max(wide, tall * 0.6, 1e-9);
  const shift = (WIDTH - wide * scale) / 2;
  return {
    points: seen.map(([x, y]) => [shift + (x - low[0]) * scale, MARGIN + (y - high[0]) * scale]),
    height: Math.ceil(tall * scale + 2 * MARGIN),
  };
}

function halfOf(limb: PageLimb): number | null {
  return limb.low === null || limb.high === null ? null : (limb.high - limb.low) / 2;
}

function limbLine({ limb, alone }: Drawn, ends: readonly [number, number][], end: number): SVGElement {
  const half = halfOf(limb);
  const [[x1, y1] = [0, 0], [x2, y2] = [0, 0]] = ends;
  const colour = half === null ? "var(--muted)" : `#${ramp(half / end).getHexString()}`;
  const line = svg("line", { x1, y1, x2, y2, stroke: colour, "stroke-width": alone ? 9 : 4, "data-body": limb.body });
  if (half === null) line.setAttribute("stroke-dasharray", "5 7");
  const told = limb.length === null ? "not determined" : `${mm(limb.length, 1)} mm`;
  line.append(svg("title", {}, `${told}${half === null ? "" : ` ± ${mm(half)} mm`}`));
  return line;
}

function limbName({ limb, alone }: Drawn, ends: readonly [number, number][]): SVGElement[] {
  if (!alone || limb.length === null) return [];
  const [[x1, y1] = [0, 0], [x2, y2] = [0, 0]] = ends;
  const right = (x1 + x2) / 2 > WIDTH / 2;
  return [
    svg(
      "text",
      { x: (x1 + x2) / 2 + (right ? 9 : -9), y: (y1 + y2) / 2 + 4, "text-anchor": right ? "start" : "end" },
      mm(limb.length, 0),
    ),
  ];
}

function swatches(): HTMLElement[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const box = el("i", { class: "swatch" });
    box.style.background = `#${ramp(share).getHexString()}`;
    return box;
  });
}
