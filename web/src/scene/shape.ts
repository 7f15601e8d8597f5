import type { PageJoint } from "../data";
import { roundNear } from "../format";
import type { Model } from "../model";

export type Vector = readonly [number, number, number];

/** A bar between two points of one body, in its frame [m]. */
export interface Bar {
  readonly body: number;
  readonly a: Vector;
  readonly b: Vector;
  /** link that the bar stands for, -1 for none */
  readonly link: number;
  readonly thin?: boolean;
}

/** What each body carries, in its own frame: drawn as in the paper's figure 5C. */
export interface Shape {
  /** [m] usual distance of a sensor from a joint: what sizes are taken from */
  readonly size: number;
  /** links between the joints of a body */
  readonly limbs: readonly Bar[];
  /** from a sensor to the nearest place of its limbs */
  readonly stalks: readonly Bar[];
  /** axes of hinges, in the child */
  readonly axes: readonly Bar[];
  /** short pieces of a dashed line from a body to a loop joint */
  readonly dashes: readonly Bar[];
  /** times that halos are drawn larger than two standard deviations */
  readonly haloFactor: number;
  /** [m] radius of each link's halo; 0 for none */
  readonly halos: readonly number[];
}

/** `radius` [m] is that of all bodies in one frame. */
export function shapeOf(model: Model, radius: number): Shape {
  const inside = model.data.joints.filter((joint) => !model.bodies[joint.parent].world);
  const size = sizeOf(inside, radius);
  const limbs = model.bodies.flatMap((_, body) => limbsOf(model, body));
  const haloFactor = factorOf(model.data.joints, size);
  return {
    size,
    limbs,
    stalks: model.bodies.flatMap((_, body) =>
      stalkOf(
        body,
        limbs.filter((bar) => bar.body === body),
      ),
    ),
    axes: model.links.flatMap((joint, link) => axisOf(joint, link, size)),
    dashes: model.data.loops.flatMap((loop, l) => dashesOf(model, loop, model.data.joints.length + l, size)),
    haloFactor,
    halos: model.links.map((joint) => haloOf(joint, haloFactor, size)),
  };
}

function sizeOf(links: readonly PageJoint[], radius: number): number {
  const sizes = links.map((joint) => (Math.hypot(...joint.p_child_joint) + Math.hypot(...joint.p_parent_joint)) / 2);
  const known = sizes.filter((value) => value > 0).sort((a, b) => a - b);
  const middle = known.length ? known[known.length >> 1] : 0;
  return Math.min(Math.max(middle, radius * 0.13), radius * 0.55);
}

function pointOn(joint: PageJoint, body: number): Vector {
  return joint.child === body ? joint.p_child_joint : joint.p_parent_joint;
}

/** From a body's own joint to every further one; a root's joints one with another, or round their middle if many. */
function limbsOf(model: Model, body: number): Bar[] {
  if (model.bodies[body].world) return []; // the room has no limbs
  const links = model.at[body];
  const points = links.map((link) => pointOn(model.links[link], body));
  if (points.length === 0) return [];
  if (points.length === 1) return [{ body, a: points[0], b: [0, 0, 0], link: links[0] }];
  if (model.own[body] >= 0) {
    const limbs = points.slice(1).map((b, i) => ({ body, a: points[0], b, link: links[i + 1], thin: false }));
    return points.length > 5 ? limbs : [...limbs, ...between(body, points.slice(1), links.slice(1))];
  }
  if (points.length === 2) return [{ body, a: points[0], b: points[1], link: links[0] }];
  if (points.length === 3) return points.map((a, i) => ({ body, a, b: points[(i + 1) % 3], link: links[i] }));
  const middle = [0, 1, 2].map((x) => points.reduce((sum, p) => sum + p[x], 0) / points.length) as unknown as Vector;
  return points.map((b, i) => ({ body, a: middle, b, link: links[i] }));
}

/** Thin bars between the further joints of a body, so that a trunk looks like the one thing it is. */
function between(body: number, points: readonly Vector[], links: readonly number[]): Bar[] {
  return points.flatMap((a, i) => points.slice(i + 1).map((b) => ({ body, a, b, link: links[i], thin: true })));
}

function stalkOf(body: number, limbs: readonly Bar[]): Bar[] {
  let best: Vector | null = null;
  for (const { a, b } of limbs) {
    const along = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    const square = along[0] ** 2 + along[1] ** 2 + along[2] ** 2;
    const t =
      square > 0 ? Math.min(1, Math.max(0, -(a[0] * along[0] + a[1] * along[1] + a[2] * along[2]) / square)) : 0;
    const point: Vector = [a[0] + t * along[0], a[1] + t * along[1], a[2] + t * along[2]];
    if (best === null || Math.hypot(...point) < Math.hypot(...best)) best = point;
  }
  return best !== null && Math.hypot(...best) > 1e-6 ? [{ body, a: [0, 0, 0], b: best, link: -1 }] : [];
}

function axisOf(joint: PageJoint, link: number, size: number): Bar[] {
  if (joint.axis_child === null) return [];
  const end = (sign: number): Vector =>
    joint.p_child_joint.map((value, x) => value + sign * size * 0.75 * joint.axis_child![x]) as unknown as Vector;
  return [{ body: joint.child, a: end(-1), b: end(1), link }];
}

/** Dashes on both bodies of a loop, from the body's own joint (or its sensor) to the loop. */
function dashesOf(model: Model, loop: PageJoint, link: number, size: number): Bar[] {
  return [loop.child, loop.parent]
    .filter((body) => !model.bodies[body].world)
    .flatMap((body) => {
      const own = model.own[body];
      const from = own >= 0 ? model.links[own].p_child_joint : ([0, 0, 0] as const);
      const to = pointOn(loop, body);
      const length = Math.hypot(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
      const dashes = Math.max(2, Math.min(24, Math.round(length / (size * 0.32))));
      const at = (t: number): Vector => from.map((value, x) => value + t * (to[x] - value)) as unknown as Vector;
      return Array.from({ length: dashes }, (_, i) => ({
        body,
        a: at((i + 0.2) / dashes),
        b: at((i + 0.8) / dashes),
        link,
      }));
    });
}

/** Standard deviation that a halo tells [m]: the largest, but across a hinge's axis where the axis is drawn itself. */
export function haloSigma(joint: PageJoint): number | null {
  if (joint.sigma === null) return null;
  return joint.axis_child !== null && joint.point === "arbitrary" ? joint.sigma[1] : joint.sigma[0];
}

function factorOf(links: readonly PageJoint[], size: number): number {
  const sigmas = links.map(haloSigma).filter((sigma) => sigma !== null && sigma > 0) as number[];
  if (sigmas.length === 0) return 1;
  sigmas.sort((a, b) => a - b);
  const factor = (size * 0.32) / (2 * sigmas[sigmas.length >> 1]);
  return factor <= 1 ? 1 : factor > 1000 ? 0 : roundNear(factor); // beyond that it is exact, and nothing to see
}

function haloOf(joint: PageJoint, factor: number, size: number): number {
  const sigma = haloSigma(joint);
  if (sigma === null || !(sigma > 0) || factor === 0) return 0;
  return Math.min(2 * sigma * factor, size * 0.6);
}
