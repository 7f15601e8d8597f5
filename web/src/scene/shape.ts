import { at } from "../at";
import type { PageJoint } from "../data";
import type { Model } from "../model";
import { median } from "../quantile";
import { addScaled, difference, dot, mean, type Vector, ZERO } from "../vector";

/** times that a halo is drawn larger than it is: 1 mm is seen as 1 cm, in every take */
export const HALO_TIMES = 10;
/** radius of a joint's ball, and of the largest halo, over the size of the figure's parts */
export const BALL = 0.125;
const HALO_LARGEST = 0.9;

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
  /** from where a sensor is drawn to where it sat after a slip; `link` is the number of the slip */
  readonly slips: readonly Bar[];
  /** [m] radius of each link's halo; 0 for none */
  readonly halos: readonly number[];
  /** whether a halo is cut at its largest radius */
  readonly halosCut: boolean;
}

/** `radius` [m] is that of all bodies in one frame. */
export function shapeOf(model: Model, radius: number): Shape {
  const inside = model.data.joints.filter((joint) => !model.body(joint.parent).world);
  const size = sizeOf(inside, radius);
  const limbs = model.bodies.flatMap((_, body) => limbsOf(model, body));
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
    slips: model.data.slips.map(({ body, shift }, link) => ({ body, a: ZERO, b: shift, link })),
    halos: model.links.map((joint) => Math.min(haloOf(joint, size), size * HALO_LARGEST)),
    halosCut: model.links.some((joint) => haloOf(joint, size) > size * HALO_LARGEST),
  };
}

function sizeOf(links: readonly PageJoint[], radius: number): number {
  const sizes = links.map((joint) => (Math.hypot(...joint.p_child_joint) + Math.hypot(...joint.p_parent_joint)) / 2);
  const known = sizes.filter((value) => value > 0);
  const middle = known.length ? median(known) : 0;
  return Math.min(Math.max(middle, radius * 0.13), radius * 0.55);
}

function pointOn(joint: PageJoint, body: number): Vector {
  return joint.child === body ? joint.p_child_joint : joint.p_parent_joint;
}

/** Where a link is on a body. */
interface End {
  readonly link: number;
  readonly point: Vector;
}

/** From a body's own joint to every further one; a root's joints one with another, or round their middle if many. */
function limbsOf(model: Model, body: number): Bar[] {
  if (model.body(body).world) return []; // the room has no limbs
  const ends = model.jointsAt(body).map((link): End => ({ link, point: pointOn(model.link(link), body) }));
  const [first, ...further] = ends;
  if (first === undefined) return [];
  if (further.length === 0) return [{ body, a: first.point, b: ZERO, link: first.link }];
  if (model.ownJoint(body) !== null) {
    const limbs = further.map(({ link, point }) => ({ body, a: first.point, b: point, link }));
    return ends.length > 5 ? limbs : [...limbs, ...between(body, further)];
  }
  if (ends.length === 2) return further.map(({ point }) => ({ body, a: first.point, b: point, link: first.link }));
  if (ends.length === 3) {
    return ends.map(({ link, point }, i) => ({ body, a: point, b: at(ends, (i + 1) % 3).point, link }));
  }
  const middle = mean(ends.map(({ point }) => point));
  return ends.map(({ link, point }) => ({ body, a: middle, b: point, link }));
}

/** Thin bars between the further joints of a body, so that a trunk looks like the one thing it is. */
function between(body: number, ends: readonly End[]): Bar[] {
  return ends.flatMap(({ link, point: a }, i) =>
    ends.slice(i + 1).map(({ point: b }) => ({ body, a, b, link, thin: true })),
  );
}

function stalkOf(body: number, limbs: readonly Bar[]): Bar[] {
  let best: Vector | null = null;
  for (const { a, b } of limbs) {
    const along = difference(b, a);
    const square = dot(along, along);
    const t = square > 0 ? Math.min(1, Math.max(0, -dot(a, along) / square)) : 0;
    const point = addScaled(a, along, t);
    if (best === null || Math.hypot(...point) < Math.hypot(...best)) best = point;
  }
  return best !== null && Math.hypot(...best) > 1e-6 ? [{ body, a: ZERO, b: best, link: -1 }] : [];
}

function axisOf({ child, p_child_joint, axis_child }: PageJoint, link: number, size: number): Bar[] {
  if (axis_child === null) return [];
  const end = (sign: number): Vector => addScaled(p_child_joint, axis_child, sign * size * 0.75);
  return [{ body: child, a: end(-1), b: end(1), link }];
}

/** Dashes on both bodies of a loop, from the body's own joint (or its sensor) to the loop. */
function dashesOf(model: Model, loop: PageJoint, link: number, size: number): Bar[] {
  return [loop.child, loop.parent]
    .filter((body) => !model.body(body).world)
    .flatMap((body) => {
      const own = model.ownJoint(body);
      const from = own === null ? ZERO : model.link(own).p_child_joint;
      const way = difference(pointOn(loop, body), from);
      const dashes = Math.max(2, Math.min(24, Math.round(Math.hypot(...way) / (size * 0.32))));
      const after = (share: number): Vector => addScaled(from, way, share / dashes);
      return Array.from({ length: dashes }, (_, i) => ({ body, a: after(i + 0.2), b: after(i + 0.8), link }));
    });
}

/** Half-width that a halo tells [m]: the largest, but across a hinge's axis where the axis is drawn itself. */
export function haloWidth(joint: PageJoint): number | null {
  if (joint.place_95 === null) return null;
  return joint.axis_child !== null && joint.point === "arbitrary" ? joint.place_95[1] : joint.place_95[0];
}

/** [m] from a joint to the edge of its halo: around its ball, HALO_TIMES the half-width, in every take. */
function haloOf(joint: PageJoint, size: number): number {
  const width = haloWidth(joint);
  return width !== null && width > 0 ? size * BALL + HALO_TIMES * width : 0;
}
